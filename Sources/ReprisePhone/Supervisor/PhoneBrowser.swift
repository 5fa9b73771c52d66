import RepriseCore

/// The one browser of a phone, in which all its apps have their web views; started when the first asks.
actor PhoneBrowser {
    private var starting: Task<Chromium, any Error>?

    /// Where it listens.
    ///
    /// - Throws: as ``Chromium/start(executable:within:)``; the next call tries again.
    func address() async throws -> String {
        let starting = starting ?? Task { try await Chromium.start() }
        self.starting = starting
        do {
            return try await starting.value.address
        } catch {
            if self.starting == starting { self.starting = nil }
            throw error
        }
    }

    func end() async {
        guard let starting else { return }
        self.starting = nil
        await (try? starting.value)?.end()
    }
}
