package import RepriseCore

extension LimitTable {
    /// Printed into `docs/limits/protocol.md`.
    package static let wire: Self = LimitTable(
        "protocol", "The wire",
        "Both sides enforce these limits.",
        [
            Limit(
                "wire.body", "a message's body", "\(bytes: WireLimits.bodyBytes)",
                "`refused` `tooLarge`; HTTP 413"),
            Limit(
                "wire.frame", "a frame", "\(bytes: WireLimits.frameBytes)",
                "close 1009, before more is buffered"),
            Limit(
                "wire.beforeWelcome", "a frame before `welcome`, or the fragments of one message",
                "\(bytes: WireLimits.bytesBeforeWelcome)", "close 1009, before it is buffered"),
            Limit(
                "wire.name", "a channel's name; an id", "\(bytes: WireLimits.channelNameBytes)",
                "`refused` `badChannelName`, `badID`"),
            Limit(
                "wire.epoch", "an epoch", "\(bytes: WireLimits.epochBytes)", "close 4200"),
            Limit(
                "wire.nesting", "levels of JSON within a field's value",
                "\(WireLimits.nestingDepth)", "malformed"),
            Limit(
                "wire.fields", "fields of a frame", "\(Envelope.fieldLimit)", "malformed"),
            Limit(
                "wire.coverage", "ranges of a coverage", "\(WireLimits.coverageRanges)",
                """
                an event that would open another range is not applied; nothing covered is \
                forgotten
                """),
            Limit(
                "wire.channels", "channels of a connection, and of one `subscribe`",
                "\(WireLimits.channelsPerConnection)", "`refused` `tooManyChannels`; close 4200"),
            Limit(
                "wire.watch",
                "channels whose presence a connection watches; users that a watch of one names",
                "\(WireLimits.watchedChannels); \(WireLimits.watchedUsers)", "close 4200"),
            Limit(
                "wire.sequence", "a sequence", "\(WireLimits.greatestSequence)",
                "malformed; a channel that has reached it takes no more messages: `refused` `channelFull`"
            ),
            Limit(
                "wire.text", "the texts `client`, `server` and `message`",
                "\(bytes: WireLimits.textBytes)", "cut"),
        ])

    /// Printed into `docs/limits/forms.md`.
    package static let catalogues: Self = LimitTable(
        "forms", "Catalogues of forms",
        """
        Characters are Unicode code points. A catalogue beyond a limit is refused with the line, \
        the JSON pointer and a remedy: HTTP 422, and exit status 65 of `reprise forms check`.
        """,
        [
            Limit(
                "catalogues.bytes", "a catalogue", "\(bytes: FormsLimits.catalogueBytes)",
                "refused unread"),
            Limit(
                "catalogues.problems", "problems that one check reports", "\(FormsLimits.problems)",
                "the others are reported by the next check"),
            Limit(
                "catalogues.forms", "forms; named predicates", "\(FormsLimits.forms) each",
                "refused"),
            Limit(
                "catalogues.parts",
                "triggers, fields, buttons of a form; actions of a button; options of a field",
                """
                \(FormsLimits.triggers), \(FormsLimits.fields), \(FormsLimits.buttons); \
                \(FormsLimits.actions); \(FormsLimits.options)
                """,
                "refused"),
            Limit(
                "catalogues.texts", "a text or a compared value; a URL; a path to a property",
                """
                \(FormsLimits.textCharacters); \(FormsLimits.urlCharacters); \
                \(FormsLimits.pathCharacters) characters
                """,
                "refused"),
            Limit(
                "catalogues.names", "an id, a version, a name; an event's name",
                """
                \(FormsLimits.idCharacters); \(FormsLimits.eventCharacters) characters of `A–Z \
                a–z \(verbatim: "0–9") . _ -`
                """,
                "refused"),
            Limit(
                "catalogues.properties", "the properties of an emitted event",
                "\(bytes: FormsLimits.propertyBytes) as JSON", "refused"),
            Limit(
                "catalogues.predicates", "predicates of a trigger, with all that they `use`",
                """
                \(FormsLimits.predicateDepth) deep, \(FormsLimits.predicateNodes) in all; \
                \(FormsLimits.choices) values in `in`
                """,
                "refused; so is a cycle of `use`"),
            Limit(
                "catalogues.delays", "a delay; a cap",
                """
                \(seconds: FormsLimits.delaySeconds); \(FormsLimits.capCount) times in at most \
                \(seconds: FormsLimits.capSeconds)
                """,
                "refused"),
            Limit(
                "catalogues.conditions", "conditions on a form's past; a count, a time in them",
                """
                \(FormsLimits.past); \(FormsLimits.capCount), \
                \(seconds: FormsLimits.capSeconds)
                """,
                "refused"),
        ])
}
