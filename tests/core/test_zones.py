from __future__ import annotations

import copy
import pickle
import zoneinfo
from datetime import datetime, timedelta
from importlib import resources
from zoneinfo import ZoneInfo

import pytest

from tsumugi_celery.core.zones import ZoneError, load_zone, zone_names


@pytest.mark.parametrize(
    "name",
    ["UTC", "Asia/Tokyo", "America/Argentina/Buenos_Aires", "Etc/GMT-9", "GMT+0", "EST5EDT"],
)
def test_a_name_of_the_list_is_accepted(name):
    zone = load_zone(name)
    assert isinstance(zone, ZoneInfo)
    assert str(zone) == zone.key == name
    assert load_zone(name) is zone


def test_every_name_of_the_list_can_be_read():
    assert len(zone_names()) > 500
    for name in zone_names():
        assert datetime(2026, 1, 1, tzinfo=load_zone(name)).utcoffset() is not None


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        # C095: not as spelled
        ("asia/kolkata", "write 'Asia/Kolkata'"),
        ("ASIA/TOKYO", "write 'Asia/Tokyo'"),
        ("utc", "write 'UTC'"),
        (" UTC", "write 'UTC'"),
        ("Asia/Tokyo\n", "write 'Asia/Tokyo'"),
        ("Asia/Tokio", "did you mean 'Asia/Tokyo'"),
        ("Europe/Berln", "did you mean 'Europe/Berlin'"),
        # C095, regions and paths too
        ("Europe", "this is a region; name a place in it, such as 'Europe/Amsterdam'"),
        ("America/Argentina", "such as 'America/Argentina/Buenos_Aires'"),
        ("Europe/", ""),
        ("../UTC", ""),
        ("Europe/../UTC", ""),
        ("/usr/share/zoneinfo/UTC", ""),
        ("zone.tab", ""),
        ("tzdata.zi", ""),
        ("__init__.py", ""),
        ("posixrules", ""),
        ("localtime", ""),
        ("posix/UTC", ""),
        ("right/UTC", ""),
        ("Factory", "a zone that was never set"),
        # C092: fixed offsets
        ("+09:00", "'Etc/GMT-9' for this offset all year"),
        ("+0900", "'Etc/GMT-9'"),
        ("-0330", "a fixed offset is not a time zone"),
        ("UTC+9", "'Etc/GMT-9'"),
        ("GMT+9", "'Etc/GMT-9'"),
        ("UTC-05:00", "'Etc/GMT+5'"),
        ("+15", "a fixed offset is not a time zone"),
        ("Z", ""),
        # not names at all
        ("", "leave it out for UTC, or name a zone"),
        (" ", ""),
        ("x" * 300, ""),
        ("Asia/" + "x" * 5000, ""),
        ("UTC\x00", ""),
        ("Asia/\ud800", ""),
        ("JST-9", ""),
        (None, "not as NoneType"),
        (9, "not as int"),
        (True, "not as bool"),
        (b"UTC", "not as bytes"),
        (["UTC"], "not as list"),
        (timedelta(hours=9), "not as timedelta"),
        (ZoneInfo("UTC"), "not as ZoneInfo"),
    ],
    ids=lambda value: ascii(value)[:30],
)
def test_what_is_refused_and_what_to_do_about_it(name, hint):
    with pytest.raises(ZoneError) as caught:
        load_zone(name)
    text = str(caught.value)
    assert hint in caught.value.hint
    assert caught.value.got in text
    assert "an IANA time zone name such as 'Asia/Tokyo' or 'UTC'" in text
    assert len(text) < 500
    assert "\n" not in text


def test_data_come_from_the_package_and_the_search_path_stays(monkeypatch, tmp_path):
    path = zoneinfo.TZPATH
    (tmp_path / "Asia").mkdir()
    moscow = resources.files("tzdata").joinpath("zoneinfo/Europe/Moscow").read_bytes()
    (tmp_path / "Asia" / "Dili").write_bytes(moscow)
    zoneinfo.reset_tzpath(to=[str(tmp_path)])
    try:
        ZoneInfo.clear_cache()
        offset = datetime(2026, 1, 1, tzinfo=load_zone("Asia/Dili")).utcoffset()
        assert offset == timedelta(hours=9)
        assert (str(tmp_path),) == zoneinfo.TZPATH
    finally:
        zoneinfo.reset_tzpath(to=path)
        ZoneInfo.clear_cache()


def test_a_zone_can_be_copied_and_pickled():
    zone = load_zone("Asia/Tokyo")
    assert copy.copy(zone) is copy.deepcopy(zone) is zone
    moment = datetime(2026, 1, 1, 9, tzinfo=zone)
    data = pickle.dumps(moment)
    # Whoever reads it needs the standard library only.
    assert b"tsumugi" not in data
    assert pickle.loads(data) == moment
    assert str(pickle.loads(data).tzinfo) == "Asia/Tokyo"
