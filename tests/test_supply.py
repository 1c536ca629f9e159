"""What the package needs from outside once it is installed: nothing, and never the network."""

import subprocess
import sys

PROGRAM = """
import importlib, pkgutil, sys

def refuse(event, args):
    # sockets of the machine itself join processes; anything else has to name an address
    local = event == "socket.connect" and not isinstance(args[1], tuple)
    if event in ("socket.connect", "socket.getaddrinfo", "socket.gethostbyname") and not local:
        raise SystemExit(f"the network was asked for: {event} {args}")

sys.addaudithook(refuse)
import stfem
for module in pkgutil.walk_packages(stfem.__path__, "stfem."):
    if not module.name.endswith("__main__"):
        importlib.import_module(module.name)

problem = stfem.problems.leaving_pulse(dim=2, eps=1e-2, final_time=0.05)
result = stfem.certify(problem, cells=4, degree=1)
result.plot("result.png")
result.solution.save("solution.npz")
stfem.Solution.load("solution.npz", problem)
stfem.io.write_vtk("solution.vtu", result.solution)
wave = stfem.problems.linear_advection_diffusion(dim=1, eps=1e-2)
stfem.studies.convergence(wave, cells=[8, 16], degree=[1]).to_markdown()
print("done" if not sys.argv[1:] else __import__("socket").create_connection(("192.0.2.1", 9)))
"""


def run(folder, *arguments):
    command = [sys.executable, "-c", PROGRAM, *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def test_nothing_asks_for_the_network(tmp_path):
    finished = run(tmp_path)
    assert (finished.stdout, finished.returncode) == ("done\n", 0), finished.stderr


def test_the_network_would_be_noticed(tmp_path):
    finished = run(tmp_path, "connect")
    assert finished.returncode == 1
    assert "the network was asked for" in finished.stderr
