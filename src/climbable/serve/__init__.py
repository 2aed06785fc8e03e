"""The verifier over HTTP, in the wire form of NeMo Gym's resources servers."""

from climbable.serve.app import Settings, make_app

__all__ = ["Settings", "make_app"]
