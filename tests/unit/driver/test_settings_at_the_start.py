"""What Spark is started with: our defaults know of flows with SQL, the user's settings do not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from mm2.driver import start
from tests.support.configs import TWO_CLUSTERS_TEXT


@pytest.mark.parametrize("has_sql", [False, True])
def test_that_a_flow_has_sql_is_no_setting_of_the_users(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, has_sql: bool
) -> None:
    seen: dict[str, Any] = {}

    def foreground(_: object, **options: Any) -> int:
        seen.update(options)
        return 0

    monkeypatch.setattr(start, "foreground", foreground)
    file = tmp_path / "mm2.properties"
    sql = "A->B.transforms.sql.value = key\n" if has_sql else ""
    file.write_text(f"{TWO_CLUSTERS_TEXT}A->B.enabled = true\nspark.app.name = x\n{sql}")
    assert start.run(file) == 0
    assert seen == {"spark": {"spark.app.name": "x"}, "has_sql": has_sql, "copies": True}
