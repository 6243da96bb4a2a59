/** `weir list`: the jobs of the data folder, or of the REST API behind `-m`. */
import type { JobOverviewJson } from '../../rest/contract.ts';
import type { Environment } from '../environment.ts';
import type { ParsedOptions } from '../options.ts';
import { orFail } from './action.ts';
import { apiOf, dataDirectory, recordOf, storeOf } from './find-job.ts';

type Row = Pick<JobOverviewJson, 'jid' | 'name' | 'state' | 'start-time'> &
  Partial<Pick<JobOverviewJson, 'x-proven'>>;

const WIDTH = 62;
const SCHEDULED: readonly string[] = ['CREATED', 'INITIALIZING'];
const TERMINAL: readonly string[] = ['FINISHED', 'CANCELED', 'FAILED', 'SUSPENDED'];

export async function listCommand(options: ParsedOptions, environment: Environment): Promise<void> {
  const { terminal } = environment;
  const showsAll = options.has('--all');
  const isOpen = !options.has('--running') && !options.has('--scheduled');
  terminal.print('Waiting for response...');
  const rows = await orFail('Failed to retrieve job list.', () => jobs(options, environment));
  const running = rows.filter(
    ({ state }) => !SCHEDULED.includes(state) && !TERMINAL.includes(state),
  );
  if (showsAll || isOpen || options.has('--running'))
    show(environment, { title: 'Running/Restarting Jobs', none: 'No running jobs.' }, running);
  if (showsAll || isOpen || options.has('--scheduled')) {
    const scheduled = rows.filter(({ state }) => SCHEDULED.includes(state));
    show(environment, { title: 'Scheduled Jobs', none: 'No scheduled jobs.' }, scheduled);
  }
  const ended = rows.filter(({ state }) => TERMINAL.includes(state));
  if (showsAll && ended.length > 0)
    show(environment, { title: 'Terminated Jobs', none: '' }, ended);
}

async function jobs(options: ParsedOptions, environment: Environment): Promise<readonly Row[]> {
  const address = options.value('--jobmanager');
  if (address !== null) return (await environment.restClient(address)).jobs();
  const data = await dataDirectory(options, environment);
  const rows: Row[] = [];
  for (const jobId of await storeOf(environment, data).list()) {
    const row =
      (await running(environment, data, jobId)) ??
      (options.has('--all') ? await recorded(environment, data, jobId) : null);
    if (row !== null) rows.push(row);
  }
  return rows;
}

async function running(environment: Environment, data: string, jobId: string): Promise<Row | null> {
  const api = await apiOf(jobId, data, environment);
  if (api === null) return null;
  if (api !== 'silent') return api.overview;
  // Nothing more is known of it.
  const row = await recorded(environment, data, jobId);
  return row === null ? null : { ...row, state: 'RUNNING' };
}

/** A run that is over, or was interrupted. */
async function recorded(
  environment: Environment,
  data: string,
  jobId: string,
): Promise<Row | null> {
  const record = await recordOf(environment, data, jobId);
  if (record === null) return null;
  const { jobName: name, ended, owner, startedAt } = record;
  const started = startedAt ?? owner?.startedAt ?? ended?.at ?? 0;
  return { jid: jobId, name, state: ended?.status ?? 'SUSPENDED', 'start-time': started };
}

function show(
  { terminal }: Environment,
  texts: { readonly title: string; readonly none: string },
  rows: readonly Row[],
): void {
  if (rows.length === 0) {
    terminal.print(texts.none);
    return;
  }
  const dashes = WIDTH - texts.title.length - 2;
  const left = Math.floor(dashes / 2);
  terminal.print(`${'-'.repeat(left)} ${texts.title} ${'-'.repeat(dashes - left)}`);
  for (const row of rows.toSorted((a, b) => a['start-time'] - b['start-time'])) {
    terminal.print(`${timeText(row['start-time'])} : ${row.jid} : ${row.name} (${row.state})`);
    const proven = row['x-proven'] ?? null;
    if (proven !== null)
      terminal.print(
        `  checkpoint ${proven.id} was restored as a proof: ${timeText(proven.timestamp)}`,
      );
  }
  terminal.print('-'.repeat(WIDTH));
}

/** `dd.MM.yyyy HH:mm:ss`, in the time zone of this machine. */
function timeText(wallTime: number): string {
  const date = new Date(wallTime);
  const two = (value: number): string => String(value).padStart(2, '0');
  const day = [two(date.getDate()), two(date.getMonth() + 1), date.getFullYear()].join('.');
  const time = [date.getHours(), date.getMinutes(), date.getSeconds()].map(two).join(':');
  return `${day} ${time}`;
}
