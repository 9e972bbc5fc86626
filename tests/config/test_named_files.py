"""Files that a table names: that one of them changed is noticed, however deep it is named."""

from pathlib import Path

import pytest

from hostler.app.provider_registry import KINDS
from hostler.app.store_registry import STORES
from hostler.config.load import load
from hostler.config.named_files import digest_of_files

FILE = """
[provider.rack]
kind = "power"
[[provider.rack.boxes]]
name = "one"
[provider.rack.boxes.redfish]
url = "https://192.0.2.1"
system = "1"
user = "admin"
password_file = "password"
ca_file = "authorities.pem"
[[provider.rack.boxes]]
name = "two"
[provider.rack.boxes.ssh]
address = "192.0.2.2"
key = "id"
fingerprint = "SHA256:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
[provider.rack.boxes.reachability]
address = "192.0.2.2"
off_after = "2m"
[provider.rack.boxes.wake-on-lan]
mac = "52:54:00:12:34:56"
[fleet.boxes]
size = 0
"""


@pytest.mark.parametrize("name", ["password", "authorities.pem", "id"])
def test_a_file_that_holds_something_else_is_noticed(tmp_path: Path, name: str) -> None:
    (tmp_path / "rack.toml").write_text(FILE)
    config = load(tmp_path / "rack.toml", KINDS, STORES)
    absent = digest_of_files(config)
    (tmp_path / name).write_text("one")
    (tmp_path / "other").write_text("one")
    one = digest_of_files(config)
    assert one not in {absent, ""}
    assert digest_of_files(config) == one
    (tmp_path / "other").write_text("two")
    assert digest_of_files(config) == one, "nobody names it"
    (tmp_path / name).write_text("two")
    assert digest_of_files(config) not in {absent, one}
    (tmp_path / name).unlink()
    (tmp_path / name).mkdir()
    assert digest_of_files(config) == absent, "what cannot be read holds nothing"
