"""Each server starts, answers, and can be killed, frozen and restarted: other tests rely on it."""

import os
import signal
import subprocess
import sys
import textwrap

import kombu
import psutil
import pytest
import sqlalchemy as sa

from tests.leash import alive, family
from tests.servers import Broker, Database, Server, require_binary
from tests.waiting import wait_for


@pytest.fixture(params=["postgres", "mariadb", "redis", "rabbitmq"])
def server(request: pytest.FixtureRequest) -> Server:
    found: Server = request.getfixturevalue(f"{request.param}_server")
    found.ensure()
    return found


def test_it_answers(server: Server):
    assert server.answers()


def test_it_is_bound_to_loopback_only(server: Server):
    bound = {
        connection.laddr.ip
        for one in family(server.pid)
        for connection in one.net_connections()
        if connection.status == psutil.CONN_LISTEN
    }
    assert bound <= {"127.0.0.1", "::1"}
    assert bound


def test_it_is_killed_with_all_its_children_and_starts_again(server: Server):
    members = family(server.pid)
    server.kill()
    assert not server.running
    assert not [one for one in members if alive(one)]
    with pytest.raises(Exception):  # noqa: B017, PT011 - each client library has its own error
        server.answers()
    server.start()
    assert server.answers()


def test_it_restarts_with_the_same_url_and_another_process(server: Server):
    url, pid = server.url, server.pid
    server.restart()
    assert server.answers()
    assert server.url == url
    assert server.pid != pid


def test_frozen_it_does_nothing_until_it_is_thawed(server: Server):
    server.freeze()
    assert psutil.Process(server.pid).status() == psutil.STATUS_STOPPED
    server.thaw()
    wait_for(server.answers)


def test_ensure_mends_what_a_test_left(server: Server):
    server.freeze()
    server.ensure()
    assert server.answers()
    members = family(server.pid)
    os.kill(server.pid, signal.SIGKILL)
    wait_for(lambda: not server.running)
    server.ensure()
    assert server.answers()
    assert not [one for one in members if alive(one)]


def test_a_database_is_fresh_and_keeps_rows_over_a_kill(database: Database):
    engine = sa.create_engine(database.url)
    with engine.begin() as connection:
        assert sa.inspect(connection).get_table_names() == []
        connection.execute(sa.text("CREATE TABLE seen (name VARCHAR(20))"))
        connection.execute(sa.text("INSERT INTO seen VALUES ('結び')"))
    engine.dispose()
    if database.server is not None:
        database.server.kill()
        database.server.start()
    with engine.connect() as connection:
        assert connection.scalar(sa.text("SELECT name FROM seen")) == "結び"
    engine.dispose()


def test_a_broker_is_fresh_and_delivers(broker: Broker):
    with kombu.Connection(broker.url, transport_options=broker.transport_options) as connection:
        queue = connection.SimpleQueue("seen")
        with pytest.raises(queue.Empty):
            queue.get(block=False)
        queue.put({"n": 1})
        message = queue.get(timeout=10)
        assert message.payload == {"n": 1}
        message.ack()
        queue.close()


def test_a_missing_binary_skips_by_name(monkeypatch):
    monkeypatch.delenv("TSUMUGI_REQUIRE_SERVERS", raising=False)
    with pytest.raises(pytest.skip.Exception, match="no-such-server is not installed"):
        require_binary("no-such-server")


def test_a_missing_binary_fails_where_servers_are_required(monkeypatch):
    monkeypatch.setenv("TSUMUGI_REQUIRE_SERVERS", "1")
    with pytest.raises(pytest.fail.Exception, match="no-such-server is not installed"):
        require_binary("no-such-server")


def test_nothing_outlives_a_killed_test_run():
    """A test process that is killed takes along what it started."""
    source = """
        import subprocess, sys, time
        from tests.leash import leash
        one = subprocess.Popen(["/bin/sh", "-c", "sleep 600 & sleep 600"], start_new_session=True)
        leash.hold(one.pid)
        print(one.pid, flush=True)
        time.sleep(600)
    """
    run = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(source)], stdout=subprocess.PIPE, text=True
    )
    assert run.stdout is not None
    with run, run.stdout:
        leader = int(run.stdout.readline())
        wait_for(lambda: len(family(leader)) == 3)
        run.kill()
    wait_for(lambda: not family(leader))
