"""``python -m stfem``: the same as the ``stfem`` command."""

import sys

from stfem.cli import main

sys.exit(main())
