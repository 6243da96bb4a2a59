/**
 * Measures inside a job: a function calls `hit` for every record and `save` when it is closed.
 * Samples of all subtasks stand in files of one folder, since subtasks run in threads of their own;
 * `readProbes` merges them. Cost: an addition a record, two clock reads every 32768.
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const STRIDE = 32_768;

/** Milliseconds since the epoch, of use between threads, and CPU microseconds of the process. */
type Sample = readonly [at: number, cpu: number];

interface SavedProbe {
  readonly samples: readonly Sample[];
  readonly count: number;
  readonly checksum: number;
}

export class Probe {
  checksum = 0;
  #count = 0;
  readonly #samples: Sample[] = [];

  hit(): void {
    if ((++this.#count & (STRIDE - 1)) === 1) this.#samples.push(sampleNow());
  }

  save(folder: string, name: string | number): void {
    const saved: SavedProbe = {
      samples: this.#samples,
      count: this.#count,
      checksum: this.checksum,
    };
    writeFileSync(join(folder, `${name}.json`), JSON.stringify(saved));
  }
}

function sampleNow(): Sample {
  const { user, system } = process.cpuUsage();
  return [performance.timeOrigin + performance.now(), user + system];
}

export interface Throughput {
  readonly count: number;
  readonly checksum: number;
  /** Records per second of wall time, and of CPU time of the whole process. */
  readonly perSecond: number;
  readonly perCpuSecond: number;
}

/** Throughput between a fifth and nine tenths of the records: start and end left out. */
export function readProbes(folder: string): Throughput {
  const saved = readdirSync(folder)
    .filter((name) => name.endsWith('.json'))
    .map((name) => JSON.parse(readFileSync(join(folder, name), 'utf8')) as SavedProbe);
  const samples = saved.flatMap((probe) => probe.samples).sort((a, b) => a[0] - b[0]);
  const first = samples[Math.floor(samples.length * 0.2)];
  const last = samples[Math.floor(samples.length * 0.9)];
  if (first === undefined || last === undefined || first === last)
    throw new Error('too few records for a throughput');
  const steps = Math.floor(samples.length * 0.9) - Math.floor(samples.length * 0.2);
  const records = steps * STRIDE;
  return {
    count: saved.reduce((sum, probe) => sum + probe.count, 0),
    checksum: saved.reduce((sum, probe) => sum + probe.checksum, 0),
    perSecond: (records / (last[0] - first[0])) * 1000,
    perCpuSecond: (records / (last[1] - first[1])) * 1e6,
  };
}
