public import RepriseCore
public import RepriseJournal
import RepriseWire

/// A place in the app that a form leads to.
public struct DeepLink: Hashable, Sendable, Identifiable {
    /// The id that it was recorded with: stays the same when it is delivered again after a crash.
    public let id: EntryID
    /// The target; never `javascript:` or another scheme that runs or holds content.
    public let url: String
    /// The form whose button was pressed.
    public let form: String
    /// The number of deliveries, including this one.
    public let attempt: Int
}

/// The deep links of forms, each acknowledged when the loop asks for the next.
///
/// ```swift
/// for await link in forms.deepLinks { await router.open(link.url) }
/// ```
///
/// A link whose process dies, or whose loop ends, is delivered again. Several loops share the
/// links.
public typealias DeepLinks = DeliveryStream<DeepLink>

extension DeepLink {
    static func queue(_ journal: Journal) -> DeliveryQueue<DeepLink> {
        DeliveryQueue(journal: journal, kind: FormsEvent.link) { delivery in
            if let link = DeepLink(delivery.entry) { return link }
            delivery.end(DispatchFailure.permanent("It is no deep link."))
            return nil
        }
    }
}

extension DeepLink {
    /// The schemes that run or hold content.
    private static let refused: Set<String> = ["javascript", "data", "vbscript", "file", "blob"]

    fileprivate init?(_ entry: Entry) {
        let parts = try? JSONMembers.read(entry.payload) { members in
            (url: try members.string("url"), form: try members.string("form"))
        }
        guard let parts else { return nil }
        self.init(id: entry.id, url: parts.url, form: parts.form, attempt: entry.attempt)
    }

    /// Whether the app may receive this URL.
    static func isAllowed(_ url: String) -> Bool {
        guard url.utf8.count <= FormsEngineLimits.deepLink, let end = url.firstIndex(of: ":") else {
            return false
        }
        let scheme = url[..<end].utf8
        let isName = scheme.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
                UInt8(ascii: "+"), UInt8(ascii: "."), UInt8(ascii: "-"):
                true
            default: false
            }
        }
        guard let first = scheme.first, UInt8(ascii: "a") <= first, first <= UInt8(ascii: "z"),
            isName
        else { return false }
        return !refused.contains(String(url[..<end]))
    }
}
