/** The records of a published file; a text when it holds something else: a record cut off. */
import type { SimulatedRecord } from '../jobs/simulated-record.ts';

export function recordsIn(bytes: Uint8Array): readonly SimulatedRecord[] | string {
  const records: SimulatedRecord[] = [];
  for (const line of Buffer.from(bytes).toString().split('\n')) {
    if (line === '') continue;
    try {
      records.push(JSON.parse(line) as SimulatedRecord);
    } catch {
      return `holds ${JSON.stringify(line)}, which is no record`;
    }
  }
  return records;
}
