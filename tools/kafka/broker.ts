/**
 * A real Apache Kafka broker for tests, benchmarks and the demo: `startBroker` starts one on free
 * loopback ports in a folder of its own; `WEIR_TEST_KAFKA=host:port` uses one that runs. Whoever
 * starts a broker stops it; it also ends when the process that started it does.
 */
import { execFile, spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { createWriteStream, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { ADMIN, brokerProperties, LOG4J_PROPERTIES, scramUsers } from './broker-properties.ts';
import type { SecurePorts } from './broker-properties.ts';
import { makeCertificates } from './certificates.ts';
import type { Certificates } from './certificates.ts';
import { kafkaJars } from './jars.ts';

const run = promisify(execFile);

const START_LIMIT_MS = 120_000;
const TOOL_HEAP = ['-Xmx256m', '-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1', '-Xshare:auto'];
const PROGRAM_HEAP = ['-Xmx1g'];
const BROKER_HEAP = ['-Xms256m', '-Xmx512m', '-XX:+UseSerialGC', '-Djava.awt.headless=true'];
const CLUSTER_ID = 'MkU3OEVBNTcwNTJENDM2Qk';

/**
 * Java in the place of the shell, and beside it one that kills it when the pipe from this process
 * breaks: so no broker outlives whoever started it, not even by `kill -9`.
 */
const TETHERED =
  'exec 3<&0; (cat <&3; kill -9 $$) >/dev/null 2>&1 & exec java "$@" 3<&- </dev/null';

export interface BrokerOptions {
  /** Users, passwords and rights: everything but the super user must be allowed. */
  readonly acl?: boolean;
  /** More listeners, with TLS and logins. */
  readonly secure?: boolean;
  readonly overrides?: Readonly<Record<string, string>>;
  /** Where it listens; must be free. Default: a port that is. */
  readonly port?: number;
  /** Port of a proxy in front of a second listener; the proxy's target is `proxiedPort`. */
  readonly proxyPort?: number;
}

export interface Broker {
  readonly host: string;
  readonly port: number;
  readonly address: string;
  readonly proxiedPort: number;
  /** Only of a broker that was started as `secure`. */
  readonly secure: SecureListeners | null;
  /** Whether this process started it, and so can kill and restart it. */
  readonly isOwn: boolean;
  /** Runs a class of Kafka's own tools and answers what it prints. */
  tool(mainClass: string, args: readonly string[]): Promise<string>;
  /** Runs a Java program, a class or one source file, with Kafka's jars and all of the compiler. */
  java(program: string, args: readonly string[]): Promise<string>;
  /** Stops it with SIGKILL, or gently, and starts it again on the same data. */
  restart(signal?: 'SIGTERM' | 'SIGKILL'): Promise<void>;
  /** Stops it; `start` brings it back on the same data. */
  halt(signal?: 'SIGTERM' | 'SIGKILL'): Promise<void>;
  start(): Promise<void>;
  stop(): Promise<void>;
}

export interface SecureListeners {
  readonly ports: SecurePorts;
  readonly certificates: Certificates;
}

/** The broker, or the reason why there is none. */
export async function startBroker(options: BrokerOptions = {}): Promise<Broker | string> {
  const jars = await kafkaJars();
  if (jars.classPath === null) return jars.reason;
  const running = process.env['WEIR_TEST_KAFKA'];
  if (running !== undefined && isPlain(options)) return new RunningBroker(running, jars.classPath);
  const broker = new OwnBroker(jars.classPath, options);
  await broker.format();
  await broker.start();
  return broker;
}

function isPlain({ acl, secure, overrides, port, proxyPort }: BrokerOptions): boolean {
  const isFree = overrides === undefined && port === undefined && proxyPort === undefined;
  return acl !== true && secure !== true && isFree;
}

class RunningBroker implements Broker {
  readonly host: string;
  readonly port: number;
  readonly address: string;
  readonly proxiedPort = 0;
  readonly secure = null;
  readonly isOwn = false;
  readonly #classPath: string;

  constructor(address: string, classPath: string) {
    this.address = address;
    this.#classPath = classPath;
    const colon = address.lastIndexOf(':');
    this.host = address.slice(0, colon);
    this.port = Number(address.slice(colon + 1));
  }

  tool(mainClass: string, args: readonly string[]): Promise<string> {
    return runTool([...TOOL_HEAP, '-cp', this.#classPath, mainClass, ...args]);
  }

  java(program: string, args: readonly string[]): Promise<string> {
    return runTool([...PROGRAM_HEAP, '-cp', this.#classPath, program, ...args]);
  }

  restart(): Promise<void> {
    return Promise.reject(new Error(`the broker at ${this.address} was not started here`));
  }

  halt(): Promise<void> {
    return this.restart();
  }

  start(): Promise<void> {
    return this.restart();
  }

  async stop(): Promise<void> {
    // It goes on running for whoever started it.
  }
}

class OwnBroker implements Broker {
  readonly host = '127.0.0.1';
  readonly isOwn = true;
  port = 0;
  proxiedPort = 0;
  secure: SecureListeners | null = null;
  readonly #classPath: string;
  readonly #options: BrokerOptions;
  readonly #folder = mkdtempSync(join(tmpdir(), 'weir-kafka-'));
  #child: ChildProcess | null = null;
  #ended: Promise<unknown> = Promise.resolve();

  constructor(classPath: string, options: BrokerOptions) {
    this.#classPath = classPath;
    this.#options = options;
  }

  get address(): string {
    return `${this.host}:${this.port}`;
  }

  async format(): Promise<void> {
    const free = await freePorts(6);
    const [broker = 0, controller = 0, proxied = 0, tls = 0, tlsLogin = 0, login = 0] = free;
    const { acl = false, secure = false, overrides = {}, proxyPort = null } = this.#options;
    this.port = this.#options.port ?? broker;
    this.proxiedPort = proxied;
    const ports = { broker: this.port, controller, proxied, secure: { tls, tlsLogin, login } };
    const certificates = secure ? await makeCertificates(this.#folder) : null;
    if (certificates !== null) this.secure = { ports: ports.secure, certificates };
    const settings = { acl, certificates, overrides, proxyPort };
    const properties = brokerProperties(ports, join(this.#folder, 'data'), settings);
    writeFileSync(join(this.#folder, 'server.properties'), properties);
    writeFileSync(join(this.#folder, 'log4j2.properties'), LOG4J_PROPERTIES);
    writeFileSync(join(this.#folder, 'admin.properties'), acl ? adminProperties() : '');
    const format = ['format', '--standalone', '-t', CLUSTER_ID, '-c', this.#path('server')];
    const users = secure ? scramUsers() : [];
    await runTool(this.#java(TOOL_HEAP, 'kafka.tools.StorageTool', [...format, ...users]));
  }

  async start(): Promise<void> {
    const args = this.#java(BROKER_HEAP, 'kafka.Kafka', [this.#path('server')]);
    const stdio = ['pipe', 'pipe', 'pipe'] as const;
    const child = spawn('sh', ['-c', TETHERED, 'java', ...args], { stdio: [...stdio] });
    const log = createWriteStream(join(this.#folder, 'broker.log'), { flags: 'a' });
    child.stdout.pipe(log, { end: false });
    child.stderr.pipe(log, { end: false });
    this.#child = child;
    this.#ended = new Promise((resolve) => child.on('exit', resolve));
    void this.#ended.then(() => child.stdin.end());
    const limit = Date.now() + START_LIMIT_MS;
    while (!(await answers(this.host, this.port))) {
      if (child.exitCode !== null || Date.now() > limit) {
        child.kill('SIGKILL');
        const tail = readFileSync(join(this.#folder, 'broker.log'), 'utf8').slice(-2000);
        throw new Error(`Kafka did not start on port ${this.port}:\n${tail}`);
      }
      await sleep(100);
    }
  }

  async halt(signal: 'SIGTERM' | 'SIGKILL' = 'SIGKILL'): Promise<void> {
    this.#child?.kill(signal);
    await this.#ended;
  }

  async restart(signal: 'SIGTERM' | 'SIGKILL' = 'SIGKILL'): Promise<void> {
    await this.halt(signal);
    await this.start();
  }

  async stop(): Promise<void> {
    await this.halt('SIGKILL');
    rmSync(this.#folder, { recursive: true, force: true });
  }

  tool(mainClass: string, args: readonly string[]): Promise<string> {
    const login = this.#options.acl === true ? ['--command-config', this.#path('admin')] : [];
    return runTool(this.#java(TOOL_HEAP, mainClass, [...args, ...login]));
  }

  java(program: string, args: readonly string[]): Promise<string> {
    return runTool(this.#java(PROGRAM_HEAP, program, args));
  }

  #path(name: string): string {
    return join(this.#folder, `${name}.properties`);
  }

  #java(heap: readonly string[], mainClass: string, args: readonly string[]): string[] {
    const log = `-Dlog4j2.configurationFile=file:${this.#path('log4j2')}`;
    return [...heap, log, '-cp', this.#classPath, mainClass, ...args];
  }
}

function adminProperties(): string {
  const { username, password } = ADMIN;
  return [
    'security.protocol=SASL_PLAINTEXT',
    'sasl.mechanism=PLAIN',
    'sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required ' +
      `username="${username}" password="${password}";`,
  ].join('\n');
}

async function runTool(args: readonly string[]): Promise<string> {
  const { stdout } = await run('java', [...args], { maxBuffer: 1 << 30 });
  return stdout;
}

async function freePorts(count: number): Promise<number[]> {
  const servers = await Promise.all(
    Array.from({ length: count }, async () => {
      const server = createServer();
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
      return server;
    }),
  );
  const ports = servers.map((server) => {
    const address = server.address();
    return typeof address === 'object' && address !== null ? address.port : 0;
  });
  await Promise.all(servers.map((it) => new Promise((resolve) => it.close(resolve))));
  return ports;
}

/** Whether something listens: a broker opens its port when it can serve. */
function answers(host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, host);
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}
