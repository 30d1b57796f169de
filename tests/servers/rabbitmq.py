"""A private RabbitMQ."""

import itertools

import kombu

from tests.servers.base import Server
from tests.servers.binaries import require_binary
from tests.servers.ports import free_port

PLACES = (
    "/usr/lib/rabbitmq/bin",
)  # the programs themselves; those in /usr/sbin change user and folder
VHOSTS_AT_ONCE = 8
# Schedulers that wait without spinning: the test machine's few cores are for the tests.
QUIET = "+S 2:2 +sbwt none +sbwtdcpu none +sbwtdio none"
CONFIG = """
listeners.tcp.1 = 127.0.0.1:{port}
loopback_users.guest = true
vm_memory_high_watermark.absolute = 512MB
disk_free_limit.absolute = 50MB
log.console = true
log.console.level = warning
log.file = false
"""
# One call of rabbitmqctl takes over a second, whatever it does: many vhosts in one.
ADD_VHOST = (
    'ok = rabbit_vhost:add(<<"{name}">>, <<"guest">>), '
    "ok = rabbit_auth_backend_internal:set_permissions("
    '<<"guest">>, <<"{name}">>, <<".*">>, <<".*">>, <<".*">>, <<"guest">>)'
)


class RabbitMQ(Server):
    """The installed RabbitMQ, as a node with its own name, ports, cookie and port mapper."""

    name = "rabbitmq"

    def __init__(self) -> None:
        self.binary = require_binary("rabbitmq-server", places=PLACES)
        self.control = require_binary("rabbitmqctl", places=PLACES)
        self.mapper = require_binary("epmd", places=("/usr/lib/erlang/bin",))
        super().__init__()
        self.node_port = free_port()
        self.mapper_port = free_port()
        self._numbers = itertools.count(1)
        self._unused_vhosts: list[str] = []

    @property
    def url(self) -> str:
        return self.vhost_url("")

    def vhost_url(self, name: str) -> str:
        """The AMQP URL of one virtual host."""
        return f"amqp://guest:guest@127.0.0.1:{self.port}/{name}"

    def prepare(self) -> None:
        (self.folder / "rabbitmq.conf").write_text(CONFIG.format(port=self.port))
        (self.folder / "enabled_plugins").write_text("[].\n")
        (self.folder / "environment").write_text("")

    def environment(self) -> dict[str, str]:
        folder = str(self.folder)
        return {
            "HOME": folder,  # for the Erlang cookie
            "ERL_FLAGS": "-kernel inet_dist_use_interface {127,0,0,1}",
            "ERL_EPMD_ADDRESS": "127.0.0.1",
            "ERL_EPMD_PORT": str(self.mapper_port),
            "RABBITMQ_NODENAME": f"tsumugi{self.port}@localhost",
            "RABBITMQ_DIST_PORT": str(self.node_port),
            "RABBITMQ_CONF_ENV_FILE": f"{folder}/environment",
            "RABBITMQ_CONFIG_FILE": f"{folder}/rabbitmq.conf",
            "RABBITMQ_ENABLED_PLUGINS_FILE": f"{folder}/enabled_plugins",
            "RABBITMQ_MNESIA_BASE": f"{folder}/mnesia",
            "RABBITMQ_LOG_BASE": f"{folder}/log",
            "RABBITMQ_PID_FILE": f"{folder}/server.pid",
            "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": QUIET,
            "RUNNING_UNDER_SYSTEMD": "1",  # the start script becomes the server, same process id
        }

    def command(self) -> list[str]:
        # Left to itself Erlang starts its port mapper as a daemon, which nobody would end.
        start = '"$1" -port "$2" & exec "$3"'
        return ["/bin/sh", "-c", start, "sh", self.mapper, str(self.mapper_port), self.binary]

    def answers(self) -> bool:
        with kombu.Connection(self.url, connect_timeout=5) as connection:
            connection.connect()
        return True

    def new_vhost(self) -> str:
        """The name of an empty virtual host that no test has used yet."""
        if not self._unused_vhosts:
            names = [f"test{number}" for number in itertools.islice(self._numbers, VHOSTS_AT_ONCE)]
            self.run(
                self.control, "eval", ", ".join(ADD_VHOST.format(name=name) for name in names) + "."
            )
            self._unused_vhosts = names
        return self._unused_vhosts.pop()
