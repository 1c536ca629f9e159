"""Every format that a study is printed or written in."""

import json
import math
import sys

import pytest

import stfem
from stfem.problems import linear_advection_diffusion
from stfem.studies import Study, sweep
from stfem.studies.columns import ORDERS, RESULTS

ROW = dict.fromkeys((*RESULTS, *ORDERS)) | {"guaranteed": True}


def made(*rows, **parameters):
    """A study with results of our choice."""
    names = tuple(parameters)
    labels = [dict(zip(names, values, strict=True)) for values in zip(*parameters.values(), strict=True)]
    complete = tuple({**label, **ROW, **row} for label, row in zip(labels, rows, strict=True))
    return Study(complete, names, names[0], "a problem", parameters, {"stfem": "1.0"})


TWO = made(
    {"error": 0.5, "bound": 1.26e-3, "effectivity": 1.01, "seconds": 0.0123},
    {"error": None, "bound": math.inf, "effectivity": 120.0, "seconds": 12.5, "eoc_bound": 2.996},
    cells=((8, 4), 16),
    eps=(1e-6, 0),
)


@pytest.fixture(scope="module")
def study():
    return sweep(linear_advection_diffusion, dim=1, eps=[1e-3, 0.0], cells=[4, 8], degree=1, final_time=0.05)


def test_text():
    assert TWO.to_text().splitlines() == [
        "  eps    cells      error      bound    eoc_bound    effectivity    seconds",
        "-----  -------  ---------  ---------  -----------  -------------  ---------",
        "1e-06      8×4  5.000e-01  1.260e-03            –          1.010      0.012",
        "    0       16          –        inf         3.00          120.0      12.50",
    ]
    assert str(TWO).splitlines()[0] == "a problem"
    assert str(TWO).splitlines()[-1] == "2 of 2 bounds are guaranteed"


def test_columns_and_digits():
    assert TWO.to_text(["eps", "bound"], digits=2).splitlines()[2:] == ["1e-06  1.3e-03", "    0      inf"]
    for columns, error, message in (
        (["eps", "bond"], ValueError, "expected names out of cells, eps, unknowns, .*, got 'bond'"),
        ("bound", TypeError, "expected a list of names, got 'bound'"),
    ):
        with pytest.raises(error, match=message):
            TWO.to_latex(columns)
    for digits in (0, 2.5, True):
        with pytest.raises(ValueError, match="digits: expected a whole number from 1 on"):
            TWO.to_markdown(digits=digits)


def test_markdown():
    assert TWO.to_markdown(["cells", "bound"]).splitlines() == [
        "|   cells |     bound |",
        "|--------:|----------:|",
        "|     8×4 | 1.260e-03 |",
        "|      16 |       inf |",
    ]
    bars = made({}, {}, name=("a|b", "*c*"))
    assert bars.to_markdown(["name"]).splitlines()[2:] == [r"| a\|b   |", r"| \*c\*  |"]


def test_latex():
    assert TWO.to_latex(["eps", "cells", "bound", "eoc_bound", "guaranteed"]) == "\n".join(
        [
            r"\begin{tabular}{rrrrl}",
            r"\toprule",
            r"$\varepsilon$ & $N$ & bound & EOC & guaranteed \\",
            r"\midrule",
            r"$10^{-6}$ & $8\times4$ & $1.26\cdot10^{-3}$ & -- & yes \\",
            r"$0$ & $16$ & $\infty$ & $3.00$ & yes \\",
            r"\bottomrule",
            r"\end{tabular}",
            "",
        ]
    )


def test_latex_has_no_bare_special_characters():
    strange = made({}, name_of=("50% of a_b & {c}~#$^\\ ε≤1",))
    body = strange.to_latex(["name_of"])
    assert (
        r"50\% of a\_b \& \{c\}\textasciitilde{}\#\$\textasciicircum{}\textbackslash{} $\varepsilon$" in body
    )
    assert "name of" in body


def test_json_has_provenance_and_comes_back(study, tmp_path):
    path = tmp_path / "study.json"
    study.to_json(path)
    record = json.loads(path.read_text(encoding="utf-8"))
    assert record["provenance"]["stfem"].startswith(stfem.__version__.partition("+")[0][:1])
    assert {"stfem", "python", "numpy", "scipy", "platform"} <= {*record["provenance"]}
    assert record["parameters"]["eps"] == [1e-3, 0.0]
    again = Study.from_json(path)
    assert again.rows == study.rows
    assert (again.varied, again.axis, again.problem) == (study.varied, "eps", "linear_advection_diffusion")
    assert again.to_latex() == study.to_latex()
    assert str(again) == str(study)


def test_json_of_infinite_numbers_and_tuples(tmp_path):
    TWO.to_json(tmp_path / "two.json")
    text = (tmp_path / "two.json").read_text(encoding="utf-8")
    assert "Infinity" not in text  # no JSON
    again = Study.from_json(tmp_path / "two.json")
    assert again.rows == TWO.rows
    assert again.parameters == TWO.parameters


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "expected a study as to_json writes it"),
        ("[1]", "expected a study as to_json writes it"),
        ('{"rows": []}', "expected a study as to_json writes it"),
        ('{"format": "stfem.study", "format_version": 99}', r"expected stfem.study of version 1, got \("),
    ],
)
def test_json_of_something_else(tmp_path, content, message):
    (tmp_path / "wrong.json").write_text(content, encoding="utf-8")
    with pytest.raises(ValueError, match=message):
        Study.from_json(tmp_path / "wrong.json")


def test_pandas(study):
    pytest.importorskip("pandas")
    frame = study.to_pandas()
    assert list(frame.columns) == list(study.rows[0])
    assert frame["bound"].tolist() == [row["bound"] for row in study.rows]
    assert frame["eoc_bound"].isna().tolist() == [True, False, True, False]


def test_without_pandas(study, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ModuleNotFoundError, match=r"expected pandas, got .*pip install 'stfem\[studies\]'"):
        study.to_pandas()


def test_plot_hands_itself_over(study, monkeypatch, tmp_path):
    from stfem import plotting

    def drawn(*given):
        return given

    monkeypatch.setattr(plotting, "plot_study", drawn, raising=False)
    assert study.plot() == (study, None)
    assert study.plot(tmp_path / "a.png") == (study, tmp_path / "a.png")


def test_what_a_picture_reads(study):
    assert isinstance(study.rows, tuple)
    assert (study.varied, study.axis) == (("eps", "cells"), "eps")
    promised = "unknowns h error bound effectivity error_final bound_final error_energy bound_energy "
    promised += "effectivity_energy bound_l1 error_dg enclosure_lower enclosure_upper initial hyperbolic "
    promised += "parabolic temporal growth guaranteed steps slabs seconds eoc_error eoc_bound"
    for row in study.rows:
        assert {*promised.split()} <= {*row}
        assert all(type(value) in (int, float, bool, type(None)) for value in row.values())
    assert repr(study) == "Study(linear_advection_diffusion: 4 cases, varied: eps, cells)"


def test_results_are_frozen(study):
    with pytest.raises(AttributeError):
        study.rows = ()
