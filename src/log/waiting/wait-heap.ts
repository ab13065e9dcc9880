// Who waits for how many bytes of one partition: a binary heap over the position in the log that would be enough, so that a
// publish looks at those it may have satisfied and at nobody else. An element knows its place, and can leave from anywhere.
// It must not know what anybody waits for.

export interface HeapElement {
  /** The position that it waits for. Changed only while it is in no heap. */
  wanted: number;
  /** Its place; −1: in no heap. */
  place: number;
}

export class WaitHeap<Element extends HeapElement> {
  readonly #elements: Element[] = [];

  get size(): number {
    return this.#elements.length;
  }

  /** The one that waits for the least, or undefined. */
  first(): Element | undefined {
    return this.#elements[0];
  }

  add(element: Element): void {
    this.#elements.push(element);
    this.#up(element, this.#elements.length - 1);
  }

  remove(element: Element): void {
    const { place } = element;
    const last = this.#elements.pop();
    element.place = -1;
    if (last === undefined || last === element) return;
    this.#up(last, place);
    this.#down(last, last.place);
  }

  /** Takes all of them out, in no order. */
  takeAll(): Element[] {
    const all = this.#elements.splice(0);
    for (const element of all) element.place = -1;
    return all;
  }

  #up(element: Element, from: number): void {
    const elements = this.#elements;
    let at = from;
    while (at > 0) {
      const above = (at - 1) >> 1;
      const other = elements[above] as Element;
      if (other.wanted <= element.wanted) break;
      elements[at] = other;
      other.place = at;
      at = above;
    }
    elements[at] = element;
    element.place = at;
  }

  #down(element: Element, from: number): void {
    const elements = this.#elements;
    const { length } = elements;
    let at = from;
    for (;;) {
      let below = 2 * at + 1;
      if (below >= length) break;
      if (below + 1 < length && (elements[below + 1] as Element).wanted < (elements[below] as Element).wanted) below++;
      const other = elements[below] as Element;
      if (other.wanted >= element.wanted) break;
      elements[at] = other;
      other.place = at;
      at = below;
    }
    elements[at] = element;
    element.place = at;
  }
}
