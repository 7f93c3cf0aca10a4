/**
 * Ways out of a sandbox through sockets: the machine's loopback and addresses, names, other families,
 * abstract sockets. The proxy has its own tests.
 */
import { spawn } from "node:child_process";
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { mkdirSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { networkInterfaces } from "node:os";
import { findProgram } from "../../src/process/index.ts";
import { type Attempt, callOf, itHolds, type Lab, leaveOut, perl } from "../support/attacks.ts";

const isRoot = process.getuid?.() === 0;
const network = ["network"] as const;
const UNREACHABLE = /refused|unreachable|errno (101|111|99|113)\b/;
const REFUSED_FAMILY = /errno (97|93|1)\b/;
const ownAddress = Object.values(networkInterfaces())
  .flat()
  .find((one) => one?.family === "IPv4" && !one.internal)?.address;
const hasIp = findProgram("ip") !== undefined;
if (!hasIp) leaveOut("adding an interface or a route", "ip is not installed");
const interfaces: readonly Attempt[] = [
  {
    title: "adding an interface",
    script: "ip link add won type dummy 2>&1 && echo WON; ip tuntap add won mode tap && echo WON; echo tried",
    says: /not permitted[\s\S]*tried$/,
  },
  {
    title: "adding a route",
    script: "ip route add default dev lo 2>&1 && echo WON; echo tried",
    says: /not permitted[\s\S]*tried$/,
  },
];
if (!ownAddress) leaveOut("the machine's own address", "it has none but the loopback");

/** Connects and prints what it hears. */
const tcp = (family: string, address: string, port = "$ENV{PORT}") =>
  perl(`use Socket qw(:all); $SIG{ALRM} = sub { print "errno 110"; exit }; alarm 5;
    socket(my $s, AF_${family}, SOCK_STREAM, 0) or die "errno " . ($! + 0);
    my $to = pack_sockaddr_in${family === "INET6" ? "6" : ""}(${port}, inet_pton(AF_${family}, "${address}"));
    connect($s, $to) or die "errno " . ($! + 0); print <$s>`);

const reaching: Attempt[] = [
  { title: "the machine's loopback", script: tcp("INET", "127.0.0.1"), says: UNREACHABLE, without: network },
  {
    title: "another address of the machine's loopback",
    script: tcp("INET", "127.8.8.8"),
    says: UNREACHABLE,
    without: network,
  },
  { title: "the address 0.0.0.0", script: tcp("INET", "0.0.0.0"), says: UNREACHABLE, without: network },
  {
    title: "the machine's loopback in IPv6",
    script: tcp("INET6", "::1", "$ENV{PORT6}"),
    says: UNREACHABLE,
    without: network,
  },
  {
    title: "an IPv4 address in IPv6",
    script: tcp("INET6", "::ffff:127.0.0.1"),
    says: UNREACHABLE,
    without: network,
  },
  ...(ownAddress
    ? [
        {
          title: "the machine's own address",
          script: tcp("INET", ownAddress),
          says: UNREACHABLE,
          without: network,
        },
      ]
    : []),
  { title: "a cloud's metadata", script: tcp("INET", "169.254.169.254", "80"), says: UNREACHABLE },
  { title: "a private network", script: tcp("INET", "10.0.0.1", "80"), says: UNREACHABLE },
  { title: "a public address", script: tcp("INET", "192.0.2.1", "80"), says: UNREACHABLE },
  {
    title: "a link-local address in IPv6",
    script: tcp("INET6", "fe80::1", "80"),
    says: /errno (22|101|99)\b/,
  },
  {
    title: "a datagram to the loopback",
    script: perl(`use Socket qw(:all); $SIG{ALRM} = sub { print "errno 110"; exit }; alarm 2;
      socket(my $s, AF_INET, SOCK_DGRAM, 0); my $to = pack_sockaddr_in($ENV{UDP}, inet_aton("127.0.0.1"));
      connect($s, $to); send($s, "x", 0); defined(recv($s, my $b, 64, 0)) or die "errno " . ($! + 0); print $b`),
    says: /errno (111|110)\b/,
    without: network,
  },
  {
    title: "looking up a name",
    script: perl('my @h = gethostbyname("example.com"); print @h ? "WON" : "nothing"'),
    says: /nothing/,
  },
  {
    title: "a broadcast",
    script: perl(
      'use Socket qw(:all); socket(S, AF_INET, SOCK_DGRAM, 0); setsockopt(S, SOL_SOCKET, SO_BROADCAST, 1); defined(send(S, "x", 0, pack_sockaddr_in(9, INADDR_BROADCAST))) ? print "WON" : print "errno ", $! + 0',
    ),
    says: UNREACHABLE,
  },
  {
    title: "an abstract socket",
    script: perl(
      'use Socket; socket(S, AF_UNIX, SOCK_STREAM, 0); connect(S, pack("S a*", AF_UNIX, "\\0$ENV{ABSTRACT}")) or die "errno " . ($! + 0); print <S>',
    ),
    says: UNREACHABLE,
    without: network,
  },
  {
    title: "the list of abstract sockets",
    script: 'grep "$ABSTRACT" /proc/net/unix && echo WON',
    without: network,
  },
  {
    title: "the list of listening ports",
    script: 'grep -i ":$HEX_PORT " /proc/net/tcp && echo WON',
    without: network,
  },
  {
    title: "interfaces of the machine",
    script: "tail -n +3 /proc/net/dev | grep -v '^ *lo:' && echo WON; echo tried",
    says: /^tried$/,
    ...(ownAddress && { without: network }),
  },
  {
    title: "a socket in /run",
    script: perl(
      'use Socket; socket(S, AF_UNIX, SOCK_STREAM, 0); connect(S, sockaddr_un($ENV{RUN_SOCKET})) or die "errno " . ($! + 0); print <S>',
    ),
    says: /errno 2\b/,
    without: ["view"],
  },
];

const asRoot = { without: ["user", "network"], controlAs: "root" } as const;
const families: Attempt[] = [
  { title: "raw packets", script: callOf("socket", 2, 3, 1), says: /errno 1\b/, ...asRoot },
  { title: "raw packets in IPv6", script: callOf("socket", 10, 3, 58), says: /errno 1\b/, ...asRoot },
  {
    title: "packets of an interface",
    script: callOf("socket", 17, 3, 0x300),
    says: REFUSED_FAMILY,
    without: ["filter", "user"],
    controlAs: "root",
  },
  { title: "the machine's own host through vsock", script: callOf("socket", 40, 1, 0), says: REFUSED_FAMILY },
  { title: "the kernel's ciphers", script: callOf("socket", 38, 5, 0), says: REFUSED_FAMILY },
  { title: "bluetooth", script: callOf("socket", 31, 3, 1), says: REFUSED_FAMILY },
  {
    title: "a list of all sockets through netlink",
    script: callOf("socket", 16, 3, 4),
    says: REFUSED_FAMILY,
    without: ["filter"],
  },
  {
    title: "events of devices",
    script: callOf("socket", 16, 3, 15),
    says: REFUSED_FAMILY,
    without: ["filter"],
  },
  {
    title: "the kernel's audit",
    script: callOf("socket", 16, 3, 9),
    says: REFUSED_FAMILY,
    without: ["filter"],
  },
  {
    title: "firewall rules",
    script: callOf("socket", 16, 3, 12),
    says: REFUSED_FAMILY,
    without: ["filter"],
  },
  ...(hasIp ? interfaces : []),
  {
    title: "changing settings of the network",
    script: "echo 1 > /proc/sys/net/ipv4/ip_forward && echo WON; echo tried",
    says: /tried$/,
  },
];

async function plant(lab: Lab): Promise<AsyncDisposable> {
  const tell = createServer((socket) => socket.end("PLANTED"));
  tell.listen(0, "0.0.0.0");
  const tell6 = createServer((socket) => socket.end("PLANTED"));
  tell6.listen(0, "::1");
  const udp = createSocket("udp4", (_, { port, address }) => udp.send("PLANTED", port, address));
  udp.bind(0, "127.0.0.1");
  await Promise.all([tell, tell6, udp].map((server) => once(server, "listening")));
  const portOf = (server: typeof tell) => (server.address() as { port: number }).port;
  const name = `holdfast-attacked-${process.pid}`;
  const listen = `use Socket; $| = 1; socket(S, AF_UNIX, SOCK_STREAM, 0); bind(S, pack("S a*", AF_UNIX, "\\0$ARGV[0]")) or die;
    listen(S, 5); print "ready\\n"; while (accept(C, S)) { syswrite(C, "PLANTED"); close(C) }`;
  const abstract = spawn("perl", ["-e", listen, name], { stdio: ["ignore", "pipe", "inherit"] });
  await once(abstract.stdout, "data");
  // Only root can make one in /run, where the machine's own sockets are.
  const dir = isRoot ? `/run/${name}` : lab.join("run");
  mkdirSync(dir, { recursive: true, mode: 0o755 });
  const inRun = createServer((socket) => socket.end("PLANTED"));
  inRun.listen({ path: `${dir}/socket`, readableAll: true, writableAll: true });
  await once(inRun, "listening");
  lab.shown.push(dir);
  Object.assign(lab.env, {
    PORT: String(portOf(tell)),
    PORT6: String(portOf(tell6)),
    UDP: String(udp.address().port),
    HEX_PORT: portOf(tell).toString(16).padStart(4, "0"),
    ABSTRACT: name,
    RUN_SOCKET: `${dir}/socket`,
  });
  return {
    async [Symbol.asyncDispose]() {
      abstract.kill("SIGKILL");
      for (const server of [tell, tell6, inRun, udp]) server.close();
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

itHolds("escapes through sockets", [...reaching, ...families], plant);
