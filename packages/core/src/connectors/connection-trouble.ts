/**
 * Why a connection could not be made, or broke, in words for people: what Node says of sockets and
 * TLS is a code and a call of the system. For the connectors of Weir, and for those
 * of others.
 */
import { messageOf } from '../base/errors.ts';

export interface ConnectionTrouble {
  /** What is wrong, what to do, and behind it what Node says. */
  readonly text: string;
  /** A certificate that is refused, TLS where there is none: a later try fails as well. */
  readonly isFinal: boolean;
}

const PASSING: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nothing listens there; start the server, or correct host and port',
  ENOTFOUND: 'its host name is not known; correct it',
  EAI_AGAIN: 'its host name could not be looked up; check it, and the name server',
  ETIMEDOUT: 'there was no answer; check host and port, and firewalls on the way',
  EHOSTUNREACH: 'the network does not lead there; check host and port',
  ENETUNREACH: 'the network does not lead there; check host and port',
  ECONNRESET: 'the connection was broken off, by the server or on the way',
  EPIPE: 'the connection was broken off, by the server or on the way',
};

const FINAL: Readonly<Record<string, string>> = {
  DEPTH_ZERO_SELF_SIGNED_CERT: 'its certificate is signed by nobody known here; give its ca',
  SELF_SIGNED_CERT_IN_CHAIN: 'its certificate is signed by nobody known here; give its ca',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'its certificate is signed by nobody known here; give its ca',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'its certificate is signed by nobody known here; give its ca',
  CERT_HAS_EXPIRED: 'its certificate has expired; renew it',
  CERT_NOT_YET_VALID: 'its certificate is not valid yet; check the clocks',
  ERR_TLS_CERT_ALTNAME_INVALID: 'its certificate is for another host; connect by the name in it',
  ERR_SSL_WRONG_VERSION_NUMBER: 'it speaks no TLS on this port; leave TLS out, or correct the port',
};

export function connectionTrouble(error: unknown): ConnectionTrouble {
  // All addresses of a name: the error gathers theirs.
  const errors =
    error instanceof AggregateError && error.errors.length > 0 ? error.errors : [error];
  const said = errors.map(messageOf).join(', ').trim();
  // Of a server that answered before it was asked Node says only that a write failed.
  const code = said.includes('wrong version number')
    ? 'ERR_SSL_WRONG_VERSION_NUMBER'
    : String((errors[0] as { readonly code?: unknown } | null | undefined)?.code);
  const words = FINAL[code] ?? PASSING[code];
  return { text: words === undefined ? said : `${words} (${said})`, isFinal: code in FINAL };
}
