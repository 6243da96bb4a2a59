/** Tells a run to stop, once, also when it was asked before the run listens. */
export type StopHow = 'cancel' | 'suspend';

export class StopSwitch {
  #how: StopHow | null = null;
  readonly #callbacks: ((how: StopHow) => void)[] = [];

  onStop(callback: (how: StopHow) => void): void {
    if (this.#how === null) this.#callbacks.push(callback);
    else callback(this.#how);
  }

  stop(how: StopHow): void {
    if (this.#how !== null) return;
    this.#how = how;
    for (const callback of this.#callbacks) callback(how);
  }
}
