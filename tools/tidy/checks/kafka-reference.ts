/** Every option and counter of the Kafka connector is explained to users, and none that is gone. */
import type { Check } from '../check.ts';
import { documentedNames, outOfStep } from '../reference.ts';
import type { Repository } from '../repository.ts';

const FOLDER = 'packages/kafka/src/';
const PAGE = 'docs/reference/kafka.md';
/** Interfaces of options, and the files they stand in. */
const OPTIONS: readonly (readonly [string, string])[] = [
  ['KafkaConnectionOptions', 'connection-options.ts'],
  ['Security', 'security.ts'],
  ['KafkaSourceOptions', 'kafka-source.ts'],
  ['KafkaSinkOptions', 'kafka-sink.ts'],
];

export const kafkaReference: Check = {
  name: 'options and counters of the Kafka connector and their reference page agree',
  run: (repository) =>
    outOfStep(repository, {
      what: 'Kafka option or counter',
      page: PAGE,
      source: FOLDER,
      inCode: [...OPTIONS.flatMap((it) => optionsOf(repository, it)), ...countersOf(repository)],
      inPage: documentedNames(repository.text(PAGE) ?? '').filter((it) => /^[a-z]\w+$/i.test(it)),
    }),
};

/** The properties of an interface. */
function optionsOf(repository: Repository, [name, file]: readonly [string, string]): string[] {
  const text = repository.text(FOLDER + file) ?? '';
  const body = new RegExp(`^export interface ${name}\\b[^{]*\\{(.*?)^\\}`, 'ms').exec(text)?.[1];
  return [...(body ?? '').matchAll(/^ {2}readonly (\w+)\??:/gm)].map(([, option]) => option ?? '');
}

function countersOf(repository: Repository): string[] {
  return repository.paths
    .filter((file) => file.startsWith(FOLDER) && !file.endsWith('.test.ts'))
    .flatMap((file) => [...(repository.text(file) ?? '').matchAll(/\.counter\('(\w+)'\)/g)])
    .map(([, counter]) => counter ?? '');
}
