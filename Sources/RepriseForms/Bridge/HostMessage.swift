package import RepriseCore
import RepriseWire

/// Messages from the host to the page: docs/forms/bridge.md has each.
package enum HostMessage {
    /// The host's protocol versions, the newest last.
    ///
    /// In 2 a page may return an event until its form's time has come.
    static let protocols: [Int64] = [1, 2]

    static func welcome(
        speaking version: Int64, now: WallTime, locale: String, theme: FormsTheme? = nil
    ) -> [UInt8] {
        text("welcome") { json in
            json.key("protocol")
            json.integer(version)
            json.key("now")
            json.integer(now.milliseconds)
            json.key("locale")
            json.string(locale)
            if let theme {
                json.key("theme")
                json.raw(theme.json)
            }
        }
    }

    static func incompatible() -> [UInt8] {
        text("incompatible") { json in
            json.key("protocols")
            json.array { list in for version in protocols { list.integer(version) } }
        }
    }

    static func catalogue(_ catalogue: FormsCatalogue?) -> [UInt8] {
        text("catalogue") { json in
            json.key("version")
            if let catalogue { json.string(catalogue.version) } else { json.raw(null) }
            json.key("catalogue")
            json.raw(catalogue?.bytes ?? null)
        }
    }

    package static func events(_ events: [FormsArrival], now: WallTime) -> [UInt8] {
        text("events") { json in
            json.key("events")
            json.array { list in
                for event in events {
                    list.object { json in
                        json.key("id")
                        json.plain(event.id.text)
                        json.key("name")
                        json.string(event.content.name)
                        json.key("properties")
                        json.raw(event.content.properties)
                        json.key("at")
                        json.integer(event.recordedAt.milliseconds)
                        json.key("now")
                        json.integer(now.milliseconds)
                        json.key("attempt")
                        json.integer(Int64(event.attempt))
                    }
                }
            }
        }
    }

    package static func granted(_ showing: PageMessage.Showing) -> [UInt8] {
        text("granted") { json in
            json.key("event")
            json.plain(showing.event.text)
            json.key("form")
            json.string(showing.form)
            json.key("showing")
            json.plain(showing.id)
        }
    }

    static func denied(event: EntryID, form: String, reason: String) -> [UInt8] {
        text("denied") { json in
            json.key("event")
            json.plain(event.text)
            json.key("form")
            json.string(form)
            json.key("reason")
            json.string(reason)
        }
    }

    package static func recorded(_ id: String) -> [UInt8] {
        text("recorded") { json in
            json.key("id")
            json.plain(id)
        }
    }

    package static func refused(_ id: String, reason: String) -> [UInt8] {
        text("refused") { json in
            json.key("id")
            json.plain(id)
            json.key("reason")
            json.string(reason)
        }
    }

    static func dismiss(reason: String) -> [UInt8] {
        text("dismiss") { json in
            json.key("reason")
            json.plain(reason)
        }
    }

    private static let null = Array("null".utf8)

    private static func text(_ type: String, _ members: (inout JSONWriter) -> Void) -> [UInt8] {
        var writer = JSONWriter()
        writer.object { json in
            json.key("type")
            json.plain(type)
            members(&json)
        }
        return writer.bytes
    }
}
