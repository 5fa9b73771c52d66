import RepriseCore
import RepriseWire

/// Fetches the catalogue when there is a reason, keeps it, and passes it on.
struct CatalogueKeeper: Sendable {
    let source: CatalogueSource
    let store: FormsStore
    let company: String
    let configuration: Forms.Configuration
    /// Raised to fetch.
    let reason: Signal
    let arrived: @Sendable (FormsCatalogue) async -> Void
    let failed: @Sendable (RepriseError?) async -> Void

    static let backoff = Backoff()

    /// Runs until the task is cancelled.
    ///
    /// - Throws: ``RepriseCore/RepriseError`` `.ownershipLost`, `.closed`.
    func run() async throws {
        var known = try? await store.cached(company: company)
        if let known { await arrived(known.text) }
        var failures = 0
        while !Task.isCancelled {
            do {
                if let news = try await fetch(knowing: known) {
                    known = news
                    await arrived(news.text)
                }
                failures = 0
                await failed(nil)
            } catch let error as RepriseError {
                if error.isEndOfJournal { throw error }
                failures += 1
                await failed(error)
            }
            let pause =
                failures == 0
                ? configuration.refresh
                : Self.backoff.delay(failures: failures, jitter: configuration.jitter())
            let clock = configuration.timekeeper
            await reason.wait(until: clock.uptime() + pause, by: clock)
        }
    }

    /// - Returns: nil if nothing is new.
    private func fetch(knowing known: FormsStore.Cached?) async throws -> FormsStore.Cached? {
        let answer: CatalogueSource.Answer
        do {
            answer = try await source.fetch(company, known?.etag)
        } catch let error as RepriseError {
            throw error
        } catch {
            throw RepriseError(.unreachable, "The catalogue cannot be fetched.", cause: error)
        }
        guard case .catalogue(let bytes, let etag) = answer, bytes != known?.text.bytes else {
            return nil
        }
        let text: FormsCatalogue
        do {
            text = try FormsCatalogue(bytes)
        } catch {
            throw RepriseError(.malformed, "The catalogue cannot be used.", cause: error)
        }
        let news = FormsStore.Cached(text: text, etag: etag)
        try await store.keep(news, company: company)
        return news
    }
}
