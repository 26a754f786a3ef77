// Confirmations are shown in a dialog; without this script they are pages of their own.
"use strict";

const dialog = document.getElementById("dialog");

document.body.addEventListener("htmx:afterSwap", (event) => {
  if (event.detail.target === dialog && dialog.childElementCount) {
    dialog.showModal();
  }
});

dialog.addEventListener("click", (event) => {
  if (event.target === dialog || event.target.closest(".cancel")) {
    event.preventDefault();
    dialog.close();
  }
});

dialog.addEventListener("close", () => dialog.replaceChildren());
