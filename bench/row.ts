/** Runs one row, named by the argument, in this process; prints its result as a line of JSON. */
import { pollute } from './support/pollute.ts';
import { resultOf } from './support/row.ts';
import { ROWS } from './support/rows.ts';

const row = ROWS.find(({ name }) => name === process.argv[2]);
if (row === undefined) throw new Error(`there is no row ${process.argv[2]}`);
await pollute();
const measured = await row.measure();
process.stdout.write(`\n${JSON.stringify(resultOf(row, measured))}\n`);
process.exit(0);
