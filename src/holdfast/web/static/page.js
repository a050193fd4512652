// What a page does beyond plain HTML: keys, a question before what cannot be undone, copying, and
// whether it is live. Without this file everything can still be read and answered.
"use strict";

(() => {
  const state = document.getElementById("state");
  const dialog = document.getElementById("confirm");
  document.documentElement.classList.add("scripted");

  // Whether it is live

  function say(word, text) {
    if (state && state.dataset.state !== word) {
      state.dataset.state = word;
      state.textContent = text;
    }
  }

  document.addEventListener("htmx:sse:after:connection", () => say("live", "live"));
  document.addEventListener("htmx:sse:before:connection", (event) => {
    const again = event.detail.connection.attempt > 0;
    if (again && state?.dataset.state !== "out") say("away", "connecting…");
  });
  document.addEventListener("htmx:sse:error", (event) => {
    if (event.detail.status === 401) {
      say("out", "signed out: take a new link from the terminal");
    } else {
      say("away", "connecting…");
    }
  });

  // A question first

  let answered = null;

  function ask(question, button) {
    document.getElementById("confirm-question").textContent = question;
    document.getElementById("confirm-yes").textContent = button.textContent;
    answered = () => {
      button.dataset.sure = "yes";
      button.form.requestSubmit(button);
    };
    dialog.returnValue = "no";
    dialog.showModal();
  }

  dialog?.addEventListener("close", () => {
    if (dialog.returnValue === "yes") answered?.();
    answered = null;
  });

  document.addEventListener("submit", (event) => {
    const button = event.submitter;
    if (button?.dataset.confirm && button.dataset.sure !== "yes") {
      event.preventDefault();
      ask(button.dataset.confirm, button);
    }
  });

  // Copying

  document.addEventListener("click", async (event) => {
    const button = event.target.closest?.("[data-copy]");
    if (!button) return;
    await navigator.clipboard.writeText(button.dataset.copy);
    button.classList.add("copied");
    setTimeout(() => button.classList.remove("copied"), 1200);
  });

  // Keys

  const chooseable = ".ask, .card, .rows > li, .told > li, .tasks > li, .fleet > tbody > tr";
  const cards = () => [...document.querySelectorAll(chooseable)].filter((card) => card.id);
  let chosen = "";
  let going = false;

  function move(step) {
    const all = cards();
    const at = all.findIndex((card) => card.id === chosen);
    const next = all[at < 0 ? 0 : Math.min(Math.max(at + step, 0), all.length - 1)];
    if (!next) return;
    all.forEach((card) => card.classList.toggle("chosen", card === next));
    chosen = next.id;
    next.tabIndex = -1;
    next.focus({ preventScroll: true });
    next.scrollIntoView({ block: "nearest" });
  }

  function open() {
    const card = document.getElementById(chosen);
    const link = card?.querySelector("a");
    if (link) link.click();
    else card?.querySelector("summary")?.click();
    return Boolean(card);
  }

  document.addEventListener("keydown", (event) => {
    const typing = event.target.closest?.("input, textarea, select, button, a, summary");
    if (event.ctrlKey || event.metaKey || event.altKey || dialog?.open) return;
    if (event.key === "Escape") return void event.target.blur?.();
    if (typing && !(event.key.length === 1 && typing.matches("button, a, summary"))) return;
    if (going) {
      going = false;
      document.querySelector(`nav [data-key="${CSS.escape(event.key)}"]`)?.click();
      return;
    }
    const approve = document.querySelector("[data-approve]");
    if (event.key === "g") going = true;
    else if (event.key === "j") move(1);
    else if (event.key === "k") move(-1);
    else if (event.key === "Enter" && open()) event.preventDefault();
    else if (event.key === "a" && approve) ask(approve.dataset.approve, approve);
    else if (event.key === "/") {
      event.preventDefault();
      const field = document.querySelector("[data-search]");
      if (field) field.focus();
      else document.querySelector('nav [data-key="h"]')?.click();
    }
  });

  // An update makes the card anew; what was chosen stays so.
  document.addEventListener("htmx:after:swap", () => {
    document.getElementById(chosen)?.classList.add("chosen");
  });
})();
