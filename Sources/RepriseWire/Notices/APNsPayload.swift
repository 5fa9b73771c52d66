package import RepriseCore

/// The payload for Apple: a JSON object of at most 4,096 bytes.
package struct APNsPayload: Hashable, Sendable {
    package var hint: PushHint
    package var title: String
    package var subtitle: String?
    package var body: String
    /// Shown in the list, without banner and sound.
    package var isQuiet: Bool
    package var category: String?
    /// Where it is not quiet.
    package var isTimeSensitive: Bool
    package var relevance: Double?
    /// The name of its sound; nil: the default.
    package var sound: String?

    package init(
        _ hint: PushHint, title: String = "", subtitle: String? = nil, body: String = "",
        isQuiet: Bool = false, category: String? = nil, isTimeSensitive: Bool = false,
        relevance: Double? = nil, sound: String? = nil
    ) {
        self.hint = hint
        self.title = title
        self.subtitle = subtitle
        self.body = body
        self.isQuiet = isQuiet
        self.category = category
        self.isTimeSensitive = isTimeSensitive
        self.relevance = relevance
        self.sound = sound
    }

    private var interruption: NotificationContent.Interruption? {
        isQuiet ? .passive : isTimeSensitive ? .timeSensitive : nil
    }

    /// The payload, with as much of the text as fits.
    package var json: [UInt8] {
        switch hint.kind {
        case .alert: return fitting.json
        case .badge, .dismiss:
            var json = JSONWriter(reserving: 256)
            json.object { payload in
                payload.key("aps")
                payload.object { aps in
                    if hint.kind == .badge {
                        aps.key("badge")
                        aps.integer(hint.badge?.count ?? 0)
                    } else {
                        aps.key("content-available")
                        aps.integer(1)
                    }
                }
                payload.key("reprise")
                hint.write(to: &payload)
            }
            return json.bytes
        }
    }

    /// What a phone shows for an alert.
    package var content: NotificationContent {
        let (body, json) = fitting
        var content = NotificationContent(
            title: PushText.title(title, atMost: PushPayloadLimits.titleBytes), body: body,
            info: json)
        content.subtitle = shortSubtitle ?? ""
        content.badge = hint.badge.map { Int($0.count) }
        content.sound = !isQuiet
        content.soundName = sound
        content.interruption = interruption
        content.relevance = relevance
        content.thread = hint.channel.text
        content.category = category.map { PushText.title($0, atMost: 64) } ?? ""
        return content
    }

    private var shortSubtitle: String? {
        subtitle.map { PushText.title($0, atMost: PushPayloadLimits.titleBytes) }
    }

    /// With as much of the text as fits.
    private var fitting: (body: String, json: [UInt8]) {
        let whole = PushText.clean(body)
        let json = write(whole, isCut: false)
        if json.count <= PushPayloadLimits.apnsBytes { return (whole, json) }
        // The limits of all other fields leave space for the text.
        let room = PushPayloadLimits.apnsBytes - write("", isCut: true).count
        let body = PushText.body(body, atMost: room)
        return (body.text, write(body.text, isCut: body.isCut))
    }

    private func write(_ body: String, isCut: Bool) -> [UInt8] {
        var hint = hint
        hint.isCut = isCut
        var json = JSONWriter(reserving: 768)
        json.object { payload in
            payload.key("aps")
            payload.object { write(body, to: &$0) }
            payload.key("reprise")
            hint.write(to: &payload)
        }
        return json.bytes
    }

    private func write(_ body: String, to aps: inout JSONWriter) {
        aps.key("alert")
        aps.object { alert in
            alert.key("title")
            alert.string(PushText.title(title, atMost: PushPayloadLimits.titleBytes))
            if let subtitle = shortSubtitle {
                alert.key("subtitle")
                alert.string(subtitle)
            }
            alert.key("body")
            alert.string(body)
        }
        if let badge = hint.badge {
            aps.key("badge")
            aps.integer(badge.count)
        }
        if let interruption {
            aps.key("interruption-level")
            aps.plain(interruption.rawValue)
        }
        if let relevance {
            aps.key("relevance-score")
            aps.raw(Array("\(relevance)".utf8))
        }
        if !isQuiet {
            aps.key("sound")
            aps.plain(sound ?? "default")
        }
        aps.key("thread-id")
        aps.plain(hint.channel.text)
        if let category {
            aps.key("category")
            aps.string(PushText.title(category, atMost: 64))
        }
        aps.key("mutable-content")
        aps.integer(1)
    }
}

/// The limits of a push's content; `docs/limits/push.md` lists each with its effect.
package enum PushPayloadLimits {
    /// The most bytes of a title.
    package static let titleBytes = 256
    /// The most bytes of a payload for APNs.
    package static let apnsBytes = 4_096
    /// The default time to live: an older message is not pushed any more.
    package static let life: Duration = .seconds(86_400)
    /// The longest time to live that a message may name.
    package static let lifeLongest: Duration = .seconds(28 * 86_400)
    /// How long a person who has read on a device counts as active there.
    package static let activeElsewhere: Duration = .seconds(120)
}
