def test_set_and_run(world):
    probes = world.tsumugi.repeats("probes", binding="proj.probe", max_attempts=3)
    probes.set("probe:1", {"url": "x"}, every="30s")
    probes.set("user:1", {"id": 1}, cron="@daily", time_zone="Europe/Berlin")
    world.start()
    world.run_until("2026-05-01T12:02:00Z")
    assert len(world.times("probe:1")) == 4
    assert len(probes.list()) == 2
    assert probes.count(prefix="user:") == 1
    assert probes.cancel("user:1")
    assert not probes.cancel("user:1")


def test_run_due(world):
    probes = world.tsumugi.repeats("probes", binding="proj.probe", max_attempts=3)
    probes.set("probe:1", {"url": "x"}, every="30s")

    @world.tsumugi.schedule("cleanup", cron="10 3 * * *", time_zone="Europe/Berlin")
    def cleanup(run):
        return run

    world.tsumugi.run_due()
    ran = world.tsumugi.run_due("2026-05-02T12:00:00Z" and 1777723200000)
    assert len(ran) == 2
