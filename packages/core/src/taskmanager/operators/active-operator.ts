/**
 * Marks which operator's user code runs in this thread, in memory that the main thread can read:
 * when the thread stands still, the warning can name the function. Two plain stores an element.
 */
export class ActiveOperator {
  /** [0] operator index + 1, or 0 · [1] counts slices of work, so that standing still shows. */
  readonly cells: Int32Array;

  constructor(memory: ArrayBufferLike = new ArrayBuffer(8)) {
    this.cells = new Int32Array(memory);
  }

  enter(operator: number): void {
    this.cells[0] = operator + 1;
  }

  leave(): void {
    this.cells[0] = 0;
  }

  /** Called between slices of work. */
  tick(): void {
    this.cells[0] = 0;
    this.cells[1] = ((this.cells[1] as number) + 1) | 0;
  }
}
