import RepriseWire

/// A push's payload for a service worker: a JSON object within one record.
package enum WebPushPayload {
    package static func json(_ push: Push) -> [UInt8] {
        let title = PushText.title(push.title, atMost: PushLimits.titleBytes)
        let bytes = write(push, title, PushText.clean(push.body), isCut: false)
        if bytes.count <= PushLimits.webPushPayloadBytes { return bytes }
        let room = PushLimits.webPushPayloadBytes - write(push, title, "", isCut: true).count
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
            payload.key("title")
            payload.string(title)
            if let subtitle = push.subtitle {
                payload.key("subtitle")
                payload.string(PushText.title(subtitle, atMost: PushLimits.titleBytes))
            }
            payload.key("body")
            payload.string(body)
            if push.isQuiet {
                payload.key("silent")
                payload.bool(true)
            }
            payload.key("tag")
            payload.plain(push.collapse)
            payload.key("reprise")
            hint.write(to: &payload)
        }
        return json.bytes
    }
}
