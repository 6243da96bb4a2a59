/**
 * What a server must be before the first record: one that keeps the keys it is given. What it tells
 * of its disk makes less of the guarantee without refusing anything, and is a warning.
 */
import { WeirError } from '@weir/core';
import type { ConnectorEnvironment, SinkOuterFacts } from '@weir/core';
import { asSinkErrors, RedisError } from './client/redis-errors.ts';
import type { Session } from './client/session.ts';
import type { ServerFactory } from './connection-options.ts';

/** Rejects when the sink will refuse the server. */
export function askAboutServer(
  factory: ServerFactory,
  environment: Pick<ConnectorEnvironment, 'clock' | 'logger'>,
): Promise<SinkOuterFacts> {
  return asSinkErrors(async () => {
    const server = factory.ask(environment);
    try {
      return await server.withSession(async (session) => {
        const info = await checkServer(session, server.place, factory);
        return { warnings: await durabilityWarnings(session, server.place, info) };
      });
    } finally {
      await server.close();
    }
  });
}

type ServerInfo = ReadonlyMap<string, string>;

/** @throws WeirError of kind `user` with what to change. */
export async function checkServer(
  session: Session,
  place: string,
  { allowEviction }: Pick<ServerFactory, 'allowEviction'>,
): Promise<ServerInfo> {
  const info = await infoOf(session);
  if (info.get('redis_mode') === 'cluster')
    throw refused(
      `Redis at ${place} is a node of a cluster, whose keys lie on several servers: a sink ` +
        'writes to one server; connect to one that is no cluster',
    );
  const policy = info.get('maxmemory_policy') ?? 'unknown';
  if (policy === 'noeviction' || allowEviction) return info;
  throw refused(
    `Redis at ${place} has maxmemory-policy ${policy}` +
      `${policy === 'unknown' ? ' (INFO does not tell)' : ''}: it may remove keys, results and ` +
      'the memory of what was written among them. Set maxmemory-policy to noeviction, or say ' +
      'allowEviction: true',
    { policy, maxmemory: info.get('maxmemory') ?? 'unknown' },
  );
}

async function infoOf(session: Session): Promise<ServerInfo> {
  const [text] = await session.send('INFO', [['INFO']]);
  const lines = typeof text === 'string' ? text.split('\r\n') : [];
  return new Map(
    lines.flatMap((line): [string, string][] => {
      const colon = line.indexOf(':');
      return colon > 0 ? [[line.slice(0, colon), line.slice(colon + 1)]] : [];
    }),
  );
}

async function durabilityWarnings(
  session: Session,
  place: string,
  info: ServerInfo,
): Promise<readonly string[]> {
  const warnings: string[] = [];
  if (info.get('maxmemory_policy') !== 'noeviction')
    warnings.push(
      `Redis at ${place} may remove keys (maxmemory-policy ${info.get('maxmemory_policy')}): ` +
        'results may vanish, or be written twice',
    );
  if (info.get('aof_enabled') !== '1')
    warnings.push(
      `Redis at ${place} keeps no append-only file: what it took since its last dump is lost ` +
        'when it stops; set appendonly yes and appendfsync always',
    );
  else if ((await fsyncPolicy(session)) !== 'always')
    warnings.push(
      `Redis at ${place} acknowledges before its append-only file is on disk: a power cut loses ` +
        'about the last second; set appendfsync always',
    );
  return warnings;
}

/** Hosted servers often do not tell; then nobody is told that it is safe. */
async function fsyncPolicy(session: Session): Promise<string> {
  try {
    const [reply] = await session.send('CONFIG GET', [['CONFIG', 'GET', 'appendfsync']]);
    return Array.isArray(reply) ? String(reply[1]) : 'unknown';
  } catch (error) {
    if (error instanceof RedisError && error.reply !== null) return 'unknown';
    throw error;
  }
}

function refused(message: string, details: Readonly<Record<string, unknown>> = {}): WeirError {
  return new WeirError('user', message, { code: 'SINK_REFUSED', details });
}
