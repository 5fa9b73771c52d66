package import RepriseCore
import RepriseWire

private let configuration = Forms.Configuration()

extension LimitTable {
    /// Printed into `docs/limits/forms.md`.
    package static let forms: Self = LimitTable(
        "forms", "The app's side",
        "",
        [
            Limit(
                "forms.event", "an event's name; its properties",
                """
                \(FormsLimits.eventCharacters) characters; \(bytes: FormsLimits.propertyBytes), \
                \(WireLimits.nestingDepth) levels
                """,
                "`.malformed`, `.tooLarge`"),
            Limit(
                "forms.kinds", "kinds of events with rules of their own",
                "\(FormsEngineLimits.declaredEvents)", "`.badConfiguration`"),
            Limit(
                "forms.inFlight", "events in flight to the page", "\(FormsEngineLimits.inFlight)",
                "the others wait in the journal"),
            Limit(
                "forms.postponed",
                """
                an event that the page returns because its form is due later than \
                \(PageLimits["heldDelay"]) ms
                """,
                "for at most \(seconds: FormsEngineLimits.postponement)",
                "delivered again; meanwhile it is not in flight"),
            Limit(
                "forms.toPage", "a message to the page",
                """
                \(FormsEngineLimits.eventsPerMessage) events, \
                \(bytes: FormsEngineLimits.bytesPerMessage) of properties; one event after a \
                page has died
                """,
                "the next message"),
            Limit(
                "forms.fromPage", "a message of the page; a submit or an action",
                """
                \(FormsEngineLimits.pageMessage); \(bytes: FormsEngineLimits.submit), of which \
                \(WireLimits.bodyBytes) go into the outbox
                """,
                "counted as malformed; `refused` `tooLarge`"),
            Limit(
                "forms.pageMessages", "unread messages of the page, and to it",
                "\(FormsEngineLimits.pageMessages)", "the page is replaced"),
            Limit(
                "forms.hello", "a page's hello, and its answer to a new catalogue",
                "\(configuration.helloTimeout) (settable)", "the page is replaced"),
            Limit(
                "forms.answer", "a page's answer about an event whose form is due and may be shown",
                "\(configuration.eventsTimeout) (settable)", "the page is replaced"),
            Limit(
                "forms.appear", "the appearance of a form that was granted",
                "\(configuration.appearTimeout) (settable)", "the page is replaced"),
            Limit(
                "forms.close", "the end of a run waits for its page to close",
                "\(FormsEngineLimits.closing)", "the run ends; the page closes when it can"),
            Limit(
                "forms.replacements", "replacements of a page",
                "\(FormsEngineLimits.replacements) a minute",
                "`stalled` until the first is a minute old"),
            Limit(
                "forms.deaths", "pages that died with one event alone in flight",
                "\(FormsEngineLimits.deathsOfOneEvent)", "a dead letter"),
            Limit(
                "forms.undecidable",
                "the wait of an event whose form the journal cannot grant, as on a full disk",
                """
                \(FormsMachine.undecidable.base), doubling with each delivery to \
                \(FormsMachine.undecidable.longest)
                """,
                "delivered again; the page stays"),
            Limit(
                "forms.catalogues", "catalogues kept for a start without a network",
                "one, of the company in use", "the former one is removed"),
            Limit(
                "forms.refresh", "requests for the catalogue",
                """
                at the start, in the foreground, on demand, and every \(configuration.refresh) \
                (settable); after a failure \(CatalogueKeeper.backoff.base), doubling to \
                \(CatalogueKeeper.backoff.longest), with full jitter
                """,
                "–"),
            Limit(
                "forms.showings", "showings are kept",
                """
                for the longest cap's period, at least \(FormsEngineLimits.showingsKept), and \
                while their event waits
                """,
                "pruned every hour"),
            Limit(
                "forms.decide", "the app's answer to `willAppear`",
                "\(configuration.willAppearTimeout) (settable)",
                """
                the form is put off for \(FormsEngineLimits.undecided), and the app asked again; \
                one question at a time
                """),
            Limit(
                "forms.decisions", "a form that the app or its quiet time puts off",
                """
                for \(FormsEngineLimits.shortestPostponement) to \
                \(seconds: FormsEngineLimits.postponement), as often as the app \
                says, until its event's time to live is over
                """,
                "decided again"),
            Limit(
                "forms.decisionsKept", "reasons why forms did not come for an event",
                """
                \(FormsEngineLimits.decisionsOfEvent), as long as the event; of the app's own \
                words \(FormsEngineLimits.vetoCharacters) characters
                """,
                "the newest are kept"),
            Limit(
                "forms.attributes", "attributes of a person; a text in one",
                """
                \(FormsEngineLimits.attributes); \(bytes: FormsEngineLimits.attributeText)
                """,
                "`.full`, `.tooLarge`"),
            Limit(
                "forms.past",
                "names of events, and of forms by what became of them, that are counted",
                "\(FormsEngineLimits.pastNames)",
                "those of longest ago count as never; pruned every hour"),
            Limit(
                "forms.theme", "a theme's corners; its scale of texts; its ratios of contrast",
                """
                at most \(FormsTheme.corners.upperBound) points; \
                \(FormsTheme.scales.lowerBound) to \(FormsTheme.scales.upperBound); at least \
                \(FormsTheme.textContrast) for texts, \(FormsTheme.edgeContrast) for edges
                """,
                "`.badConfiguration`"),
            Limit(
                "forms.link", "a deep link", "\(bytes: FormsEngineLimits.deepLink)", "`refused`"),
            Limit(
                "forms.linksAhead", "deep links delivered ahead of the loop that reads them",
                "\(FormsEngineLimits.deepLinksAhead)", "the others wait in the journal"),
        ])

    /// Printed into `docs/limits/forms.md`.
    package static let formsPage: Self = LimitTable(
        "forms", "The page",
        "The page, `Web/forms.js`, also enforces the limits of a catalogue.",
        [
            Limit(
                "formsPage.fromPage", "a message of the page; a `submit` or an `action`",
                "\(PageLimits["pageMessageBytes"]); \(bytes: PageLimits["submitBytes"])",
                "not sent; the form says that the answers are too long"),
            Limit(
                "formsPage.toPage", "a message of the host",
                "\(PageLimits["hostMessageBytes"]) characters", "`fault` `tooLarge`"),
            Limit(
                "formsPage.waiting", "unread messages of the host",
                "\(PageLimits["waitingMessages"])", "`fault` `tooMany`"),
            Limit(
                "formsPage.events", "events in flight in the page", "\(PageLimits["eventsInHand"])",
                "`suppressed` `queueFull`"),
            Limit(
                "formsPage.forms", "forms that wait for the screen",
                "\(PageLimits["waitingForScreen"])", "the last one is `suppressed` `queueFull`"),
            Limit(
                "formsPage.outcomes", "outcomes in one message",
                "\(PageLimits["outcomesInMessage"])", "the next message"),
            Limit(
                "formsPage.log", "messages to the log; a message",
                """
                \(PageLimits["logsInSecond"]) a second; \(PageLimits["logCharacters"]) \
                characters
                """,
                "dropped; cut"),
        ])
}
