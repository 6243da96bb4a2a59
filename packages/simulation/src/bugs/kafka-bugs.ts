/** Mistakes of the sink for Kafka. */
import { ProduceSession } from '@weir/kafka/internal/sink/produce-session';
import { KafkaTransactionCommitter } from '@weir/kafka/internal/sink/transaction-committer';
import type { PlantedBug } from './planted-bugs.ts';
import { substituteMethod } from './substitute.ts';

export const kafkaBugs: readonly PlantedBug[] = [
  {
    name: 'transactions of dead attempts left open in Kafka',
    scenario: 'kafka',
    plant: () =>
      substituteMethod(
        KafkaTransactionCommitter.prototype,
        'recoverAndAbort',
        () => () => Promise.resolve(),
      ),
  },
  {
    name: 'checkpoint acknowledged before Kafka has the records',
    scenario: 'kafka',
    plant: () =>
      substituteMethod(
        ProduceSession.prototype,
        'flush',
        (original) =>
          function (this: ProduceSession) {
            original.call(this).catch(() => undefined);
            return Promise.resolve();
          },
      ),
  },
];
