/**
 * What a connection that cannot be made or that breaks means. A broker that is away, also in the
 * middle of a handshake, comes back: transient. A login or a certificate that is refused does not
 * mend itself: the job ends and names the option. The library wraps both alike, so the innermost
 * cause decides.
 */
import { messageOf } from '@weir/core';
import { KafkaError } from './kafka-errors.ts';

/** What the client was told to use, for hints. */
export interface SecurityInUse {
  readonly hasTls: boolean;
  readonly hasSasl: boolean;
}

export function unreachable(address: string, cause: unknown): KafkaError {
  const chain = causesOf(cause);
  const root = chain.at(-1);
  const reason = reasonOf(root);
  if (!isNetworkFailure(root)) {
    if (chain.some((error) => /SASL|uthentication/.test(messageOf(error))))
      return final(`Kafka at ${address} refuses the credentials: ${reason}; check \`sasl\``, cause);
    if (chain.some((error) => /TLS|SSL|certificate|self.signed/i.test(messageOf(error))))
      return final(`Kafka at ${address}: ${reason}; check \`tls\``, cause);
  }
  return new KafkaError(`Kafka at ${address} does not answer: ${reason}`, {
    isTransient: true,
    cause,
  });
}

/**
 * The connection was made, and ended before the first answer: a broker does so with a client that
 * does not log in, speaks no TLS, or has no certificate.
 */
export function turnedAway(address: string, cause: unknown, security: SecurityInUse): KafkaError {
  const error = unreachable(address, cause);
  const code = String((causesOf(cause).at(-1) as { code?: unknown } | undefined)?.code);
  if (!error.isTransient || !ENDED_CODES.has(code)) return error;
  const options = [
    ...(security.hasSasl ? [] : ['a login (`sasl`)']),
    ...(security.hasTls ? ['a certificate (`tls`)'] : ['TLS (`tls`)']),
  ].join(' or ');
  return new KafkaError(
    `${error.message}, and ended the connection before its first answer: it may ask for ${options}`,
    { isTransient: true, cause },
  );
}

function final(message: string, cause: unknown): KafkaError {
  return new KafkaError(message, { isTransient: false, cause });
}

/** The other side ended it. */
const ENDED_CODES = new Set(['PLT_KFK_NETWORK', 'ECONNRESET', 'EPIPE']);

const NETWORK_CODES = new Set([
  ...ENDED_CODES,
  'PLT_KFK_TIMEOUT',
  'ECONNREFUSED',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'EAI_AGAIN',
]);

function isNetworkFailure(error: unknown): boolean {
  return NETWORK_CODES.has(String((error as { code?: unknown } | undefined)?.code));
}

function reasonOf(error: unknown): string {
  if (error === undefined) return 'no answer';
  const { serverErrorMessage, reason } = error as {
    readonly serverErrorMessage?: unknown;
    readonly reason?: unknown;
  };
  if (typeof serverErrorMessage === 'string' && serverErrorMessage !== '')
    return serverErrorMessage;
  // OpenSSL's text is a dump of places in its source; what happened stands beside it.
  const text = messageOf(error);
  return typeof reason === 'string' && text.includes(':error:') ? reason : text;
}

function causesOf(error: unknown): unknown[] {
  const chain: unknown[] = [];
  for (let next = error; next !== undefined && next !== null && chain.length < 8;) {
    chain.push(next);
    const { errors } = next as { errors?: unknown };
    next = Array.isArray(errors) ? errors[0] : (next as { cause?: unknown }).cause;
  }
  return chain;
}
