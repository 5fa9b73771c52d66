import RepriseWire

/// The payload for Apple: a JSON object of at most 4,096 bytes.
package enum APNsPayload {
    /// - Parameter push: the push.
    /// - Returns: the payload, with as much of the text as fits.
    package static func json(_ push: Push) -> [UInt8] {
        switch push.hint.kind {
        case .alert: return alert(push)
        case .badge, .dismiss:
            var json = JSONWriter(reserving: 256)
            json.object { payload in
                payload.key("aps")
                payload.object { aps in
                    if push.hint.kind == .badge {
                        aps.key("badge")
                        aps.integer(push.hint.badge?.count ?? 0)
                    } else {
                        aps.key("content-available")
                        aps.integer(1)
                    }
                }
                payload.key("reprise")
                push.hint.write(to: &payload)
            }
            return json.bytes
        }
    }

    private static func alert(_ push: Push) -> [UInt8] {
        let title = PushText.title(push.title, atMost: PushLimits.titleBytes)
        let whole = PushText.clean(push.body)
        let bytes = write(push, title, whole, isCut: false)
        if bytes.count <= PushLimits.apnsPayloadBytes { return bytes }
        // The limits of all other fields leave space for the text.
        let room = PushLimits.apnsPayloadBytes - write(push, title, "", isCut: true).count
        let body = PushText.body(push.body, atMost: room)
        return write(push, title, body.text, isCut: body.isCut)
    }

    private static func write(
        _ push: Push, _ title: String, _ body: String, isCut: Bool
    ) -> [UInt8] {
        var hint = push.hint
        hint.isCut = isCut
        var json = JSONWriter(reserving: 768)
        json.object { payload in
            payload.key("aps")
            payload.object { write(push, title, body, to: &$0) }
            payload.key("reprise")
            hint.write(to: &payload)
        }
        return json.bytes
    }

    private static func write(
        _ push: Push, _ title: String, _ body: String, to aps: inout JSONWriter
    ) {
        aps.key("alert")
        aps.object { alert in
            alert.key("title")
            alert.string(title)
            alert.key("body")
            alert.string(body)
        }
        if let badge = push.hint.badge {
            aps.key("badge")
            aps.integer(badge.count)
        }
        if push.isQuiet {
            aps.key("interruption-level")
            aps.plain("passive")
        } else {
            aps.key("sound")
            aps.plain("default")
        }
        aps.key("thread-id")
        aps.plain(push.hint.channel.text)
        if let category = push.category {
            aps.key("category")
            aps.string(PushText.title(category, atMost: 64))
        }
        aps.key("mutable-content")
        aps.integer(1)
    }
}
