// Whether the page has come to rest; asked in every frame until it says yes.
//
// A page rests when nothing moves or loads in it, when it does not say itself that it is busy,
// when the server has answered all that was sent to it, and when nothing in it was changed, and
// no message came, for some frames. Seconds count nowhere: a slow machine has slow frames.
(frames) => {
  const begun = () => {
    const rest = { still: 0, changes: 0, heard: 0, sent: 0, known: "", asked: -1, answered: -1, kernel: null };
    new MutationObserver(() => { rest.changes += 1; })
      .observe(document, { subtree: true, childList: true, attributes: true, characterData: true });
    return rest;
  };
  const rest = (window.testsRest ??= begun());
  const seen = (one) => one.checkVisibility({ visibilityProperty: true });
  const some = (selector) => [...document.querySelectorAll(selector)].some(seen);

  // A page of Solara's: what it has sent is answered when a question sent after it is.
  const answered = () => {
    if (!window.solara) return true;
    if (!solara.debug || app.loading || !solara.debug.viewMounted()) return false;
    const kernel = solara.debug.kernel();
    if (kernel !== rest.kernel) {
      rest.kernel = kernel;
      kernel.anyMessage.connect((_, { msg, direction }) => {
        const name = msg.header.msg_type;
        if (name === "status" || name.startsWith("kernel_info")) return;
        if (direction === "send") rest.sent += 1; else rest.heard += 1;
      });
    }
    if (kernel.connectionStatus !== "connected") return true;  // it was cut off by the test
    if (rest.asked !== rest.sent) {
      const asked = (rest.asked = rest.sent);
      kernel.requestKernelInfo().then(() => { rest.answered = asked; }, () => { rest.asked = -1; });
    }
    return rest.answered === rest.sent && !app.kernelBusy;
  };

  const moves = () => document.getAnimations().some((one) => one.playState === "running" || one.pending);
  const loads = () => document.readyState !== "complete" || document.fonts.status !== "loaded" ||
    [...document.images].some((image) => !image.complete);
  const busy = () => some("[aria-busy=true], [role=progressbar]");

  const now = `${rest.changes} ${rest.heard} ${rest.sent}`;
  const calm = answered() && now === rest.known && !loads() && !busy() && !moves();
  rest.known = now;
  rest.still = calm ? rest.still + 1 : 0;
  return rest.still >= frames;
}
