/**
 * Failures of Redis as errors of the engine, by the first word of its reply. `transient`: a server
 * that is away, starts, is full or is a replica for as long as a failover lasts: answered by
 * retries and then by the restart strategy. `user`: what a restart does not change (a password, a
 * right, a key of another type); the job ends and says what to change.
 */
import { isWeirError, messageOf, StorageUnavailableError, WeirError } from '@weir/core';

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

/** What to change, by the first word of a reply. */
const ADVICE: Readonly<Record<string, string>> = {
  OOM: 'raise maxmemory, or remove keys',
  MISCONF: 'the server cannot write to its disk',
  READONLY: 'it is a replica; connect to the primary',
  NOAUTH: 'give user and password in connection',
  WRONGPASS: 'give the right user and password in connection',
  NOPERM: 'grant the user this right',
  WRONGTYPE: 'write to another key, or remove this one',
  BUSY: 'a script runs for too long',
};

/** What a refusal of the server becomes. `what`: "connecting", "writing". */
export function refusal(what: string, place: string, reply: string): RedisError {
  const [word = ''] = reply.split(' ', 1);
  const advice = ADVICE[word];
  return new RedisError(
    `Redis at ${place} refuses ${what}: ${reply}${advice === undefined ? '' : `; ${advice}`}`,
    { isTransient: TRANSIENT.includes(word) || reply.startsWith(TOO_MANY_CLIENTS), reply },
  );
}

export function noAnswer(what: string, place: string, error: unknown): RedisError {
  return new RedisError(`Redis at ${place} does not answer ${what}: ${textOf(error)}`, {
    isTransient: true,
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

/** Of an error that only gathers others (all addresses of a name refused), theirs. */
function textOf(error: unknown): string {
  if (error instanceof AggregateError && error.message === '')
    return error.errors.map(messageOf).join(', ');
  return messageOf(error);
}
