"""Settings of hypothesis for everything below."""

from __future__ import annotations

from hypothesis import settings

# A busy machine makes single examples slow; the suite's own timeout catches what hangs.
settings.register_profile("shared-machine", deadline=None)
settings.load_profile("shared-machine")
