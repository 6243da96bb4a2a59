/** `@weir/kafka`: a source and a sink for Apache Kafka. */
export { kafkaSource } from './kafka-source.ts';
export type { KafkaSourceOptions } from './kafka-source.ts';
export { kafkaSink } from './kafka-sink.ts';
export type { KafkaSinkOptions } from './kafka-sink.ts';
export type { KafkaConnectionOptions } from './connection-options.ts';
export { bytes, json, text } from './formats/serde.ts';
export type { KafkaDeserializer, KafkaSerde, KafkaSerializer } from './formats/serde.ts';
export type { KafkaRecord } from './formats/kafka-record.ts';
export type { KafkaCommittable } from './sink/committable.ts';
export { MalformedRecord } from './source/malformed-record.ts';
export type { KafkaEnumeratorState, KafkaSplit } from './source/kafka-split.ts';
export type { StartPosition, StopPosition } from './source/start-offsets.ts';
export type { Compression } from './records/compression.ts';
export type { KafkaCredential, KafkaPasswordLogin, KafkaTokenLogin, Security } from './security.ts';
