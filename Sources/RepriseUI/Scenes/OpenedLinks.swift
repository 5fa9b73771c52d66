package import Foundation

/// Recognises that one opening of a link is reported twice: SwiftUI tells the view, and UIKit may
/// tell the scene's or the app's delegate as well.
package struct OpenedLinks {
    package enum Route: Hashable, CaseIterable { case view, delegate }

    /// How long after the first report another route's report is of the same opening.
    package static let window = Duration.seconds(5)
    /// The most reports that wait for another; then the oldest is forgotten.
    package static let most = 16

    private var reports: [(url: URL, route: Route, at: Duration)] = []

    /// Nothing is opened.
    package init() {}

    /// - Parameters:
    ///   - url: the link.
    ///   - route: who reports it; each reports an opening at most once.
    ///   - now: on a clock that does not go back.
    /// - Returns: whether it is an opening that no other route has reported.
    package mutating func opened(_ url: URL, by route: Route, at now: Duration) -> Bool {
        reports.removeAll { now - $0.at > Self.window }
        if let same = reports.firstIndex(where: { $0.url == url && $0.route != route }) {
            reports.remove(at: same)
            return false
        }
        if reports.count == Self.most { reports.removeFirst() }
        reports.append((url, route, now))
        return true
    }
}
