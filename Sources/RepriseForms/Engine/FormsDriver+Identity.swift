import GRDB
import RepriseCore
import RepriseJournal
import RepriseWire

/// Changes of the user and the company.
extension FormsDriver {
    func changed(
        _ change: FormsChange, _ continuation: CheckedContinuation<Void, any Error>
    )
        async
    {
        do {
            let (identity, isCleared) = try await store.change(change.apply)
            let company = identity.company ?? configuration.company
            let keepsCatalogue = company == self.company
            self.company = company
            if isCleared {
                await perform(
                    machine.cleared(reason: change.reason, keepsCatalogue: keepsCatalogue))
            }
            if !keepsCatalogue { keepCatalogue() }
            continuation.resume()
        } catch {
            loop.note(error)
            continuation.resume(throwing: error)
        }
    }

    func keepCatalogue() {
        keeper?.cancel()
        guard let source else { return }
        let keeper = CatalogueKeeper(
            source: source, store: store, company: company, configuration: configuration,
            reason: reason,
            arrived: { [inbox, company] in
                inbox.put(.catalogue(company: company, $0))
            }, failed: { [weak self] in await self?.catalogueFailed($0) })
        self.keeper = Task { try? await keeper.run() }
    }

    func catalogueFailed(_ error: RepriseError?) { catalogueFault = error }
}
