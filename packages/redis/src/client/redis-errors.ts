/**
 * Failures of Redis as errors of the engine, by the first word of its reply. `transient`: a server
 * that is away, starts, is full or is a replica for as long as a failover lasts: answered by
 * retries and then by the restart strategy. `user`: what a restart does not change (a password, a
 * right, a key of another type); the job ends and says what to change.
 */
import { connectionTrouble, isWeirError, StorageUnavailableError, WeirError } from '@weir/core';

export class RedisError extends Error {
  readonly isTransient: boolean;
  /** What the server answered; `null`: the connection broke, so nobody knows what it has done. */
  readonly reply: string | null;

  constructor(
    message: string,
    options: { readonly isTransient: boolean; readonly reply: string | null; cause?: unknown },
  ) {
    super(message, { cause: options.cause });
    this.name = 'RedisError';
    this.isTransient = options.isTransient;
    this.reply = options.reply;
  }
}

const TRANSIENT: readonly string[] = [
  'LOADING',
  'BUSY',
  'MASTERDOWN',
  'READONLY',
  'OOM',
  'MISCONF',
  'NOREPLICAS',
  'TRYAGAIN',
];
const TOO_MANY_CLIENTS = 'ERR max number of clients reached';

/** What happened and what to do, in words of the user, by how a reply begins. */
const ADVICE: Readonly<Record<string, string>> = {
  OOM: 'its memory is full; raise maxmemory, or remove keys',
  MISCONF: 'it cannot write its data to disk; look into its log',
  READONLY: 'it is a replica; connect to the primary',
  MASTERDOWN: 'it is a replica that has lost its primary; connect to the primary',
  NOREPLICAS: 'too few replicas follow it, by its min-replicas-to-write',
  LOADING: 'it has started, and is still reading its data',
  NOAUTH: 'it asks for a password; give user and password in connection',
  WRONGPASS: 'user or password is wrong; give the right user and password in connection',
  NOPERM: 'a right is missing; grant the user this right',
  WRONGTYPE: 'a key holds another type; write to another key, or remove this one',
  BUSY: 'a script runs in it for too long; wait for it, or end it there',
  DENIED:
    'it takes connections of its own machine alone; give it a password, or connect from there',
  'ERR DB index': 'it has no database of this number; give one below its setting databases',
  'ERR AUTH': 'it has no password; leave it out of connection',
  [TOO_MANY_CLIENTS]: 'no connection is left; raise maxclients, or lower the parallelism',
};

/** What a refusal of the server becomes. `what`: "connecting", "writing". */
export function refusal(what: string, place: string, reply: string): RedisError {
  const known = Object.entries(ADVICE).find(([begin]) => `${reply} `.startsWith(`${begin} `));
  return new RedisError(
    `Redis at ${place} refuses ${what}: ` +
      (known === undefined ? reply : `${known[1]} (it says: ${reply})`),
    {
      isTransient:
        TRANSIENT.includes(reply.split(' ', 1)[0] ?? '') || known?.[0] === TOO_MANY_CLIENTS,
      reply,
    },
  );
}

export function noAnswer(what: string, place: string, error: unknown): RedisError {
  const { text, isFinal } = connectionTrouble(error);
  return new RedisError(`Redis at ${place} does not answer ${what}: ${text}`, {
    isTransient: !isFinal,
    reply: null,
    cause: error,
  });
}

/** The error of a sink that a failure of Redis becomes; others pass unchanged. */
export async function asSinkErrors<R>(run: () => Promise<R>): Promise<R> {
  try {
    return await run();
  } catch (error) {
    if (!(error instanceof RedisError) || isWeirError(error)) throw error;
    const { message, isTransient } = error;
    throw isTransient
      ? new StorageUnavailableError(message, { code: 'SINK_UNAVAILABLE', cause: error })
      : new WeirError('user', message, { code: 'SINK_REFUSED', cause: error });
  }
}
