/**
 * Failures of Kafka as errors of the engine. `transient`: a broker that is away, answered by
 * retries and then by the restart strategy. `user`: something a restart does not change (a wrong
 * topic, missing rights, credentials, a time-out above the broker's maximum); the job ends and says
 * what to change.
 */
import { StorageUnavailableError, WeirError } from '@weir/core';
import type { ErrorCode } from '@weir/core';
import {
  isAuthorization,
  isRetriable,
  nameOf,
  UNKNOWN_TOPIC_OR_PARTITION,
} from '../wire/error-codes.ts';
import type { Api } from '../wire/api.ts';

export type Side = Extract<ErrorCode, 'SOURCE_UNAVAILABLE' | 'SINK_UNAVAILABLE'>;

/** A failure that has no side yet; source and sink give it theirs. */
export class KafkaError extends Error {
  /** Whether starting the job again from its checkpoint may help. */
  readonly isTransient: boolean;
  /** Whether the same request may succeed later. */
  readonly isRetriable: boolean;
  readonly errorCode: number | null;

  constructor(
    message: string,
    options: {
      readonly isTransient: boolean;
      readonly isRetriable?: boolean;
      readonly errorCode?: number;
      readonly cause?: unknown;
    },
  ) {
    super(message, { cause: options.cause });
    this.name = 'KafkaError';
    this.isTransient = options.isTransient;
    this.isRetriable = options.isRetriable ?? options.isTransient;
    this.errorCode = options.errorCode ?? null;
  }
}

export function brokenAnswer(address: string, api: string, cause: unknown): KafkaError {
  return new KafkaError(`Kafka at ${address} answers ${api} in a form this client cannot read`, {
    isTransient: false,
    cause,
  });
}

export function unsupportedVersion(
  address: string,
  api: Pick<Api<unknown, unknown>, 'name' | 'minVersion' | 'maxVersion'>,
  range: { readonly min: number; readonly max: number } | undefined,
): KafkaError {
  const has = range === undefined ? 'does not know it' : `has ${range.min} to ${range.max}`;
  return new KafkaError(
    `Kafka at ${address} is too old or too new: ${api.name} is needed in version ` +
      `${api.minVersion} to ${api.maxVersion}, the broker ${has}`,
    { isTransient: false },
  );
}

/** An error code that a request answered with. `what`: "writing to topic a". */
export function refused(what: string, code: number, detail: string | null = null): KafkaError {
  const right = isAuthorization(code) ? '; give the client the right for it' : '';
  const more = detail === null || detail === '' ? '' : ` (${detail})`;
  return new KafkaError(`Kafka refuses ${what}: ${nameOf(code)}${more}${right}`, {
    isTransient: isRetriable(code),
    errorCode: code,
  });
}

export function noSuchTopic(topic: string): KafkaError {
  return new KafkaError(`Kafka has no topic ${topic}; create it, or correct the name`, {
    isTransient: false,
    errorCode: UNKNOWN_TOPIC_OR_PARTITION,
  });
}

/** The error of a source or sink that a failure of Kafka becomes; others pass unchanged. */
export function asWeirError(side: Side, error: unknown): unknown {
  if (!(error instanceof KafkaError)) return error;
  const { message, isTransient } = error;
  const facts = { cause: error, details: detailsOf(error) };
  if (isTransient) return new StorageUnavailableError(message, { ...facts, code: side });
  const code = side === 'SINK_UNAVAILABLE' ? 'SINK_REFUSED' : side;
  return new WeirError('user', message, { ...facts, code });
}

function detailsOf(error: KafkaError): Readonly<Record<string, unknown>> {
  return error.errorCode === null ? {} : { kafkaError: nameOf(error.errorCode) };
}

/** Runs a step of a sink; a failure of Kafka becomes one of the sink. */
export async function asSinkErrors<R>(run: () => Promise<R>): Promise<R> {
  try {
    return await run();
  } catch (error) {
    throw asWeirError('SINK_UNAVAILABLE', error);
  }
}
