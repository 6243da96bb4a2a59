/**
 * Kafka's error codes: those the connector decides on by name, and the names of all for messages.
 * A retriable code says that the same request may succeed later, most after new metadata.
 */
import { protocolErrors } from '@platformatic/kafka';

export const NONE = 0;
export const OFFSET_OUT_OF_RANGE = 1;
export const UNKNOWN_TOPIC_OR_PARTITION = 3;
export const COORDINATOR_LOAD_IN_PROGRESS = 14;
export const COORDINATOR_NOT_AVAILABLE = 15;
export const NOT_COORDINATOR = 16;
export const OUT_OF_ORDER_SEQUENCE = 45;
export const DUPLICATE_SEQUENCE = 46;
export const INVALID_PRODUCER_EPOCH = 47;
export const INVALID_TXN_STATE = 48;
export const INVALID_PRODUCER_ID_MAPPING = 49;
export const INVALID_TRANSACTION_TIMEOUT = 50;
export const CONCURRENT_TRANSACTIONS = 51;
export const UNKNOWN_PRODUCER_ID = 59;
export const PRODUCER_FENCED = 90;
export const UNKNOWN_TOPIC_ID = 100;
export const INCONSISTENT_TOPIC_ID = 103;
export const TRANSACTIONAL_ID_NOT_FOUND = 105;
export const TRANSACTION_ABORTABLE = 120;

const AUTHORIZATION: ReadonlySet<number> = new Set([29, 30, 31, 53, 65]);
const RECORD_TOO_LARGE: ReadonlySet<number> = new Set([10, 18]);

interface ErrorFact {
  readonly id: string;
  readonly message: string;
  readonly canRetry: boolean;
}

const FACTS = new Map<number, ErrorFact>();
for (const [id, fact] of Object.entries(protocolErrors))
  FACTS.set(fact.code, { id, message: fact.message, canRetry: fact.canRetry });

/** `NOT_COORDINATOR (16)`. */
export function nameOf(code: number): string {
  return `${FACTS.get(code)?.id ?? 'UNKNOWN'} (${code})`;
}

export function isRetriable(code: number): boolean {
  return code === CONCURRENT_TRANSACTIONS || (FACTS.get(code)?.canRetry ?? false);
}

export function isAuthorization(code: number): boolean {
  return AUTHORIZATION.has(code);
}

export function isRecordTooLarge(code: number): boolean {
  return RECORD_TOO_LARGE.has(code);
}

/** The coordinator moves or starts: look it up again. */
export function isCoordinatorMove(code: number): boolean {
  return (
    code === COORDINATOR_LOAD_IN_PROGRESS ||
    code === COORDINATOR_NOT_AVAILABLE ||
    code === NOT_COORDINATOR
  );
}
