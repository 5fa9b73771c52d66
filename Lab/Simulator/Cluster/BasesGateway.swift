import RepriseCore
import RepriseServer

/// A gateway's part in bases: what `ClusterMember` does before it follows the journal, and what
/// `BaseKeeper` does, with the shipping `LeaseMachine`, `BaseAgreement` and `BaseManifest`.
final class BasesGateway {
    /// How old a base is, by the journal's time, when the next is made.
    private static let every: Duration = .seconds(20)
    /// How long others have to say what their views hold.
    private static let hashWithin: Duration = .seconds(30)

    private struct Kept {
        let grant: Int64
        let manifest: BaseManifest
        let file: [UInt8]
    }

    private unowned let gateway: SimulatedGateway
    private let bases: SimulatedBases
    private let lease: GatewayLease
    private var agreement = BaseAgreement()
    /// The view at a mark of this gateway's own, until it is copied.
    private var kept: Kept?

    init(_ gateway: SimulatedGateway, _ bases: SimulatedBases) {
        self.gateway = gateway
        self.bases = bases
        lease = GatewayLease(.base, of: gateway) { [unowned bases] in bases.isOver }
    }

    private var simulation: Simulation { bases.simulation }
    private var mutation: Mutation? { simulation.mutation }
    private var grant: Int64? { lease.grant }

    private func after(_ delay: Duration, _ work: @escaping () -> Void) {
        simulation.after(delay, on: gateway.process, work)
    }

    // MARK: Joining

    /// Makes the view anew if the journal begins behind it; then calls `then`.
    func join(then: @escaping () -> Void) {
        // The process has just started, and is not to die right in that.
        after(.milliseconds(1)) { [self] in
            findBeginning { [self] first in
                guard let first else { return gateway.fail("nobody knows where it begins") }
                let stood = gateway.view.position.sequence
                guard first > stood + 1, mutation != .clusterAwaitsPurged else { return then() }
                install(reaching: first - 1, then)
            }
        }
    }

    func findBeginning(then: @escaping (Int64?) -> Void) {
        bases.findBeginning(for: gateway, then: then)
    }

    private func install(reaching sequence: Int64, _ then: @escaping () -> Void) {
        bases.findNewest(by: gateway) { [self] newest in
            guard case .base(let manifest) = newest, manifest.position.sequence >= sequence else {
                return gateway.fail("finds no base that reaches entry \(sequence)")
            }
            download(manifest) { [self] file in
                guard let file else { return gateway.fail("cannot load its base") }
                install(file, manifest, then)
            }
        }
    }

    private func install(
        _ file: [UInt8], _ manifest: BaseManifest, _ then: @escaping () -> Void
    ) {
        do {
            guard try gateway.hash(of: file) == manifest.content else {
                return gateway.fail("loads a base that does not hold what it should")
            }
            try gateway.install(file)
            let mark = manifest.position.sequence
            simulation.trace(gateway.process.name, "makes its view anew from the base at \(mark)")
            bases.checker.installed(gateway, at: mark)
            then()
        } catch {
            simulation.violated(.agreement, "a base cannot be used: \(error)")
        }
    }

    /// The base's file; nil if a piece is not there, or another.
    private func download(
        _ manifest: BaseManifest, _ file: [UInt8] = [], number: Int = 0,
        then: @escaping ([UInt8]?) -> Void
    ) {
        guard number < manifest.pieces.count else { return then(file) }
        let name = BasePiece.piece(mark: manifest.position.sequence, number: number)
        bases.get(name, by: gateway) { [self] bytes in
            guard let bytes, manifest.hasPiece(bytes, at: number) else { return then(nil) }
            download(manifest, file + bytes, number: number + 1, then: then)
        }
    }

    /// It follows the journal from now on.
    func begin() {
        (agreement, kept) = (BaseAgreement(), nil)
        catchUp()
        lease.begin(jitter: bases.jitter())
        keep()
    }

    /// Before it serves anybody all that was stored before is applied.
    private func catchUp() {
        gateway.submit([.nop]) { [self] result in
            if case .failure = result { catchUp() }
        }
    }

    // MARK: What views hold

    /// An entry is applied.
    func applied(_ entry: AppliedEntry, isOwn: Bool) {
        if !isOwn, entry.disposition == .accepted {
            agreement.wrote(entry.session, at: entry.sequence)
        }
        for outcome in entry.outcomes {
            switch outcome {
            case .marked(let grant): look(atMarkBy: grant)
            case .hashed(let hash): agreement.heard(hash, from: entry.session, isOwn: isOwn)
            default: break
            }
        }
    }

    private func look(atMarkBy grant: Int64) {
        do {
            let view = gateway.view
            let manifest = BaseManifest(
                position: view.position, time: view.time.0, content: try view.contentHash())
            let own = ViewHash(mark: manifest.position.sequence, hash: manifest.content)
            let copy = try self.grant == grant ? gateway.copyView() : nil
            after(bases.hashing()) { [self] in
                agreement.looked(own)
                let file = self.grant == grant ? copy : nil
                kept = file.map { Kept(grant: grant, manifest: manifest, file: $0) }
                gateway.submit([.hashed(own)]) { _ in }
            }
        } catch {
            simulation.violated(.agreement, "a view cannot be read: \(error)")
        }
    }

    // MARK: Making one

    private func keep() {
        guard !bases.isOver else { return }
        after(Self.every / 4) { [self] in
            guard let grant else { return keep() }
            bases.findNewest(by: gateway) { [self] newest in
                switch newest {
                case .unknown: keep()
                case .base(let last) where gateway.view.time.0 < last.time.advanced(by: Self.every):
                    keep()
                case .none, .base: make(by: grant)
                }
            }
        }
    }

    private func make(by grant: Int64) {
        gateway.submit([.mark(grant: grant)]) { [self] result in
            guard case .marked? = (try? result.get())?.first else { return keep() }
            copyMarked(by: grant, until: gateway.now + Self.hashWithin)
        }
    }

    /// Once this view is hashed.
    private func copyMarked(by grant: Int64, until end: Duration) {
        if let kept, kept.grant == grant, let mine = agreement.mine,
            mine.mark == kept.manifest.position.sequence
        {
            self.kept = nil
            return copied(kept)
        }
        guard gateway.now < end else { return keep() }
        after(.milliseconds(50)) { [self] in copyMarked(by: grant, until: end) }
    }

    private func copied(_ kept: Kept) {
        let mark = kept.manifest.position.sequence
        switch mutation {
        case .clusterPurgesEarly:
            bases.removeEntries(through: mark, by: gateway) { [self] _ in
                upload(kept, kept.manifest)
            }
        case .clusterManifestFirst:
            var manifest = kept.manifest
            while let piece = Self.piece(manifest.pieces.count, of: kept.file) {
                manifest.append(piece)
            }
            bases.put(manifest.encoded, as: .manifest(mark: mark), by: gateway) { [self] _ in
                upload(kept, kept.manifest)
            }
        default: upload(kept, kept.manifest)
        }
    }

    private static func piece(_ number: Int, of file: [UInt8]) -> [UInt8]? {
        let rest = file.dropFirst(number * SimulatedBases.piece)
        return rest.isEmpty ? nil : Array(rest.prefix(SimulatedBases.piece))
    }

    private func upload(_ kept: Kept, _ manifest: BaseManifest) {
        let (mark, number) = (manifest.position.sequence, manifest.pieces.count)
        guard let piece = Self.piece(number, of: kept.file) else { return readBack(manifest, kept) }
        bases.put(piece, as: .piece(mark: mark, number: number), by: gateway) { [self] isDone in
            guard isDone else { return failed(at: mark) }
            var manifest = manifest
            manifest.append(piece)
            upload(kept, manifest)
        }
    }

    private func readBack(_ manifest: BaseManifest, _ kept: Kept) {
        let mark = manifest.position.sequence
        download(manifest) { [self] file in
            do {
                guard let file, try gateway.hash(of: file) == manifest.content else {
                    return failed(at: mark)
                }
                agree(on: manifest, by: kept.grant, until: gateway.now + Self.hashWithin)
            } catch {
                simulation.violated(.agreement, "a base cannot be read: \(error)")
            }
        }
    }

    private func agree(on manifest: BaseManifest, by grant: Int64, until end: Duration) {
        let mark = manifest.position.sequence
        let own = ViewHash(mark: mark, hash: manifest.content)
        do {
            let isAllowed = try agreement.allows(own, isLate: gateway.now >= end)
            guard isAllowed || mutation == .clusterBaseUnchecked else {
                return after(.milliseconds(200)) { [self] in
                    agree(on: manifest, by: grant, until: end)
                }
            }
        } catch {
            guard mutation == .clusterBaseUnchecked else { return failed(at: mark) }
        }
        guard self.grant == grant else { return failed(at: mark) }
        bases.put(manifest.encoded, as: .manifest(mark: mark), by: gateway) { [self] isDone in
            guard isDone else { return failed(at: mark) }
            purge(through: mark)
        }
    }

    private func purge(through mark: Int64) {
        bases.removeEntries(through: mark, by: gateway) { [self] isDone in
            guard isDone else { return keep() }
            bases.findMarks(by: gateway) { [self] marks in
                sweep((marks ?? []).filter { $0 < mark }[...])
            }
        }
    }

    private func sweep(_ marks: ArraySlice<Int64>) {
        guard let mark = marks.first else { return keep() }
        bases.removePieces(at: mark, by: gateway) { [self] _ in sweep(marks.dropFirst()) }
    }

    private func failed(at mark: Int64) {
        simulation.trace(gateway.process.name, "gives its base at \(mark) up")
        bases.removePieces(at: mark, by: gateway) { [self] _ in keep() }
    }
}
