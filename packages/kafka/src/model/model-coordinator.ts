/**
 * The transaction coordinator of the model: states, epochs, fencing and time-outs as Apache Kafka
 * 4.4.0 has them for requests of protocol 1. `test/kafka/model-comparison.test.ts` holds it against
 * the real one.
 */
import type { Clock } from '@weir/core';
import * as codes from '../wire/error-codes.ts';
import type { TransactionDescription, TransactionRef } from '../wire/transactions.ts';
import type { ModelLog } from './model-log.ts';

type State =
  | 'Empty'
  | 'Ongoing'
  | 'PrepareCommit'
  | 'PrepareAbort'
  | 'CompleteCommit'
  | 'CompleteAbort';

interface Transaction {
  readonly transactionalId: string;
  producerId: bigint;
  epoch: number;
  state: State;
  timeoutMs: number;
  startedAt: number | null;
  readonly partitions: Map<string, ModelLog>;
}

const EPOCH_MAX = 32_766;

export class ModelCoordinator {
  readonly #clock: Clock;
  readonly #maxTimeoutMs: number;
  readonly #transactions = new Map<string, Transaction>();
  #nextProducerId = 1000n;
  /** Markers are written at once, or when `writeMarkers` is called: until then a transaction is
   * prepared, and requests for it are answered with CONCURRENT_TRANSACTIONS. */
  holdsMarkers = false;

  constructor(clock: Clock, maxTimeoutMs: number) {
    this.#clock = clock;
    this.#maxTimeoutMs = maxTimeoutMs;
  }

  /** Number of transactional ids the broker remembers. */
  get idCount(): number {
    return this.#transactions.size;
  }

  newProducerId(): bigint {
    return this.#nextProducerId++;
  }

  init(
    transactionalId: string,
    timeoutMs: number,
  ): { readonly errorCode: number; readonly producerId: bigint; readonly epoch: number } {
    this.#abortTimedOut();
    const failed = (errorCode: number) => ({ errorCode, producerId: -1n, epoch: -1 });
    if (timeoutMs <= 0 || timeoutMs > this.#maxTimeoutMs)
      return failed(codes.INVALID_TRANSACTION_TIMEOUT);
    const known = this.#transactions.get(transactionalId);
    if (known === undefined) {
      const producerId = this.newProducerId();
      this.#transactions.set(transactionalId, {
        transactionalId,
        producerId,
        epoch: 0,
        state: 'Empty',
        timeoutMs,
        startedAt: null,
        partitions: new Map(),
      });
      return { errorCode: codes.NONE, producerId, epoch: 0 };
    }
    if (known.state === 'Ongoing') {
      // The open transaction is fenced and aborted; the client asks again.
      known.epoch++;
      this.#prepare(known, false);
      return failed(codes.CONCURRENT_TRANSACTIONS);
    }
    if (isPrepared(known)) return failed(codes.CONCURRENT_TRANSACTIONS);
    if (known.epoch >= EPOCH_MAX) {
      known.producerId = this.newProducerId();
      known.epoch = 0;
    } else known.epoch++;
    known.state = 'Empty';
    known.timeoutMs = timeoutMs;
    return { errorCode: codes.NONE, producerId: known.producerId, epoch: known.epoch };
  }

  addPartition(ref: TransactionRef, place: string, log: ModelLog): number {
    this.#abortTimedOut();
    const found = this.#check(ref);
    if (typeof found === 'number') return found;
    if (isPrepared(found)) return codes.CONCURRENT_TRANSACTIONS;
    if (found.state !== 'Ongoing') {
      found.state = 'Ongoing';
      found.startedAt = this.#clock.now();
    }
    found.partitions.set(place, log);
    return codes.NONE;
  }

  /** Whether a transactional write may go to a partition. */
  mayWrite(transactionalId: string, producerId: bigint, epoch: number, place: string): number {
    this.#abortTimedOut();
    const found = this.#transactions.get(transactionalId);
    if (found === undefined || found.producerId !== producerId)
      return codes.INVALID_PRODUCER_ID_MAPPING;
    if (epoch < found.epoch) return codes.INVALID_PRODUCER_EPOCH;
    const isOpen = found.state === 'Ongoing' && found.partitions.has(place);
    return isOpen ? codes.NONE : codes.TRANSACTION_ABORTABLE;
  }

  end(ref: TransactionRef, isCommit: boolean): number {
    this.#abortTimedOut();
    const found = this.#check(ref);
    if (typeof found === 'number') return found;
    switch (found.state) {
      case 'Ongoing':
        this.#prepare(found, isCommit);
        return codes.NONE;
      case 'CompleteCommit':
        return isCommit ? codes.NONE : codes.INVALID_TXN_STATE;
      case 'CompleteAbort':
        return isCommit ? codes.INVALID_TXN_STATE : codes.NONE;
      case 'PrepareCommit':
        return isCommit ? codes.CONCURRENT_TRANSACTIONS : codes.INVALID_TXN_STATE;
      case 'PrepareAbort':
        return isCommit ? codes.INVALID_TXN_STATE : codes.CONCURRENT_TRANSACTIONS;
      case 'Empty':
        return codes.INVALID_TXN_STATE;
    }
  }

  describe(transactionalId: string): TransactionDescription {
    this.#abortTimedOut();
    const found = this.#transactions.get(transactionalId);
    const isKnown = found !== undefined;
    return {
      errorCode: isKnown ? codes.NONE : codes.TRANSACTIONAL_ID_NOT_FOUND,
      transactionalId,
      state: found?.state ?? '',
      timeoutMs: found?.timeoutMs ?? 0,
      startTime: found?.startedAt ?? -1,
      producerId: found?.producerId ?? -1n,
      epoch: found?.epoch ?? -1,
      topics: [],
    };
  }

  list(states: readonly string[]): {
    readonly transactionalId: string;
    readonly producerId: bigint;
    readonly state: string;
  }[] {
    this.#abortTimedOut();
    return [...this.#transactions.values()].filter(
      ({ state }) => states.length === 0 || states.includes(state),
    );
  }

  /** Finishes what is prepared. */
  writeMarkers(): void {
    for (const transaction of this.#transactions.values())
      if (isPrepared(transaction)) complete(transaction);
  }

  /** The broker forgets an id after `transactional.id.expiration.ms`. */
  forget(transactionalId: string): void {
    const found = this.#transactions.get(transactionalId);
    if (found?.state === 'Ongoing') {
      found.state = 'PrepareAbort';
      complete(found);
    }
    this.#transactions.delete(transactionalId);
  }

  /** Sets the epoch of an id, to come near its end. */
  setEpoch(transactionalId: string, epoch: number): void {
    const found = this.#transactions.get(transactionalId);
    if (found !== undefined) found.epoch = epoch;
  }

  #check(ref: TransactionRef): Transaction | number {
    const found = this.#transactions.get(ref.transactionalId);
    if (found === undefined || found.producerId !== ref.producerId)
      return codes.INVALID_PRODUCER_ID_MAPPING;
    return found.epoch === ref.epoch ? found : codes.PRODUCER_FENCED;
  }

  #prepare(transaction: Transaction, isCommit: boolean): void {
    transaction.state = isCommit ? 'PrepareCommit' : 'PrepareAbort';
    if (!this.holdsMarkers) complete(transaction);
  }

  #abortTimedOut(): void {
    const now = this.#clock.now();
    for (const transaction of this.#transactions.values()) {
      const { state, startedAt, timeoutMs } = transaction;
      if (state !== 'Ongoing' || startedAt === null || now - startedAt < timeoutMs) continue;
      transaction.epoch++;
      this.#prepare(transaction, false);
    }
  }
}

function isPrepared({ state }: Transaction): boolean {
  return state === 'PrepareCommit' || state === 'PrepareAbort';
}

function complete(transaction: Transaction): void {
  const isCommit = transaction.state === 'PrepareCommit';
  for (const log of transaction.partitions.values())
    log.end(transaction.producerId, transaction.epoch, isCommit);
  transaction.partitions.clear();
  transaction.startedAt = null;
  transaction.state = isCommit ? 'CompleteCommit' : 'CompleteAbort';
}
