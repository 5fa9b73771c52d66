/// The files of the preview's page.
enum FormsPreviewPage {
    static let html = """
        <!doctype html>
        <html lang="en">
          <head>
            <meta charset="utf-8" />
            <meta name="viewport" content="width=device-width, initial-scale=1" />
            <title>Forms</title>
            <link rel="stylesheet" href="/preview.css" />
            <script src="/preview.js" defer></script>
          </head>
          <body>
            <nav aria-label="Forms"></nav>
            <iframe title="Phone" width="390" height="844"></iframe>
            <ol aria-label="Messages"></ol>
          </body>
        </html>
        """

    static let css = """
        :root { color-scheme: light dark; font: 14px system-ui, sans-serif; }
        body { display: flex; gap: 24px; margin: 24px; background: Canvas; color: CanvasText; }
        nav { display: flex; flex-direction: column; gap: 8px; }
        nav a { min-width: 24px; min-height: 24px; }
        [aria-current] { font-weight: bold; }
        iframe { border: 1px solid gray; border-radius: 32px; flex: none; }
        ol { font-family: monospace; white-space: pre-wrap; margin: 0; }
        """

    /// Lists the forms, shows the one of the address, and what its page has said.
    static let script = """
        'use strict';
        (async () => {
          const messages = document.querySelector('ol');
          const say = (text) => {
            messages.append(document.createElement('li'));
            messages.lastChild.textContent = text;
          };
          addEventListener('message', (event) => {
            if (event.origin === location.origin) say(event.data);
          });
          const answer = await fetch('/catalogue.json');
          if (!answer.ok) return say(await answer.text());
          const { forms } = await answer.json();
          const chosen = new URLSearchParams(location.search).get('form') ?? forms[0]?.id;
          for (const { id } of forms) {
            const link = document.createElement('a');
            link.textContent = id;
            link.href = `/?form=${encodeURIComponent(id)}`;
            if (id === chosen) link.setAttribute('aria-current', 'page');
            document.querySelector('nav').append(link);
          }
          if (chosen === undefined) return say('There is no form in it.');
          const frame = document.querySelector('iframe');
          frame.src = `/page?form=${encodeURIComponent(chosen)}`;
        })();
        """

    /// Answers the page as an app does: docs/forms/bridge.md.
    static let host = """
        'use strict';
        (() => {
          const id = new URLSearchParams(location.search).get('form');
          const hex = () => Array.from(crypto.getRandomValues(new Uint8Array(16)),
            (byte) => byte.toString(16).padStart(2, '0')).join('');
          const answer = (message) => window.repriseReceive(JSON.stringify(message));
          const answers = {
            hello: async () => {
              const now = Date.now();
              const theme = await fetch('/theme.json');
              if (!theme.ok) return parent.postMessage(await theme.text(), location.origin);
              answer({ type: 'welcome', protocol: 2, now, locale: navigator.language,
                theme: await theme.json() });
              const catalogue = await (await fetch('/catalogue.json')).json();
              const form = catalogue.forms.find((each) => each.id === id);
              if (!form) return parent.postMessage('There is no such form.', location.origin);
              // Alone, at once and always.
              const conditions = ['window', 'frequency', 'audience', 'past', 'quiet'];
              for (const name of conditions) delete form[name];
              form.triggers = [{ event: 'preview' }];
              const version = 'preview';
              answer({ type: 'catalogue', version,
                catalogue: { format: catalogue.format, version, forms: [form] } });
            },
            formsData: () => answer({ type: 'events', events: [{ id: hex(), name: 'preview',
              properties: {}, at: Date.now(), now: Date.now(), attempt: 1 }] }),
            showing: ({ event, form }) =>
              answer({ type: 'granted', event, form, showing: hex() }),
            action: ({ id }) => answer({ type: 'recorded', id }),
            submit: ({ id }) => answer({ type: 'recorded', id }),
          };
          const told = ({ type, session, n, ...rest }) => {
            parent.postMessage(`${type} ${JSON.stringify(rest)}`, location.origin);
          };
          const postMessage = (text) => setTimeout(() => {
            const message = JSON.parse(text);
            told(message);
            answers[message.type]?.(message);
          });
          Object.defineProperty(window, 'webkit',
            { value: { messageHandlers: { reprise: { postMessage } } } });
        })();
        """
}
