"""``python -m climbable`` is the command ``climb``."""

import sys

from climbable.cli import main

sys.exit(main())
