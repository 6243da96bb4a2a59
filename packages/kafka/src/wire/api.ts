/**
 * One request of Kafka's protocol: its key, the versions whose bytes these functions write and
 * read, and the functions. All versions used are flexible. The highest version both sides know is
 * used.
 */
import type { WireReader } from './wire-reader.ts';
import type { WireWriter } from './wire-writer.ts';

export interface Api<Request, Response> {
  readonly name: string;
  readonly key: number;
  readonly minVersion: number;
  readonly maxVersion: number;
  readonly write: (writer: WireWriter, request: Request, version: number) => void;
  readonly read: (reader: WireReader, version: number) => Response;
}
