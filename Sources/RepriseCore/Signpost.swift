#if canImport(os)
    private import os
#endif

/// An interval that Instruments shows: the opening of a journal, a catch-up, a handler.
///
/// Begun and ended on any thread; nothing outside of Apple's systems.
package struct Signpost: Sendable {
    #if canImport(os)
        private static let poster = OSSignposter(subsystem: "reprise", category: "Intervals")
        private let name: StaticString
        private let id: OSSignpostID
    #endif

    /// Begins an interval.
    package static func begin(_ name: StaticString) -> Signpost {
        #if canImport(os)
            let signpost = Signpost(name: name, id: poster.makeSignpostID())
            _ = poster.beginInterval(name, id: signpost.id)
            return signpost
        #else
            return Signpost()
        #endif
    }

    /// Ends it; once.
    package func end() {
        #if canImport(os)
            Self.poster.endInterval(name, .beginState(id: id))
        #endif
    }
}
