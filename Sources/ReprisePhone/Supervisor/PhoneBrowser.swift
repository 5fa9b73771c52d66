import RepriseCore

/// The one browser of a phone, in which all its apps have their web views; started when the first asks.
actor PhoneBrowser {
    func address() async throws -> String {
        throw RepriseError(.unavailable, "This phone has no browser.")
    }

    func end() async {}
}
