# Everything that is done with this repository; `make` alone lists it.
# The logic lives in scripts/, so that each step can be run and read by itself.

SCENARIO ?= all
SEED ?=
FILTER ?=
CONFIGURATION ?= debug
ARGS ?=
KILLS ?=
MINUTES ?=
IMAGES ?= 100
SEEDS ?= 1000
ROUNDS ?= 20
TARGET ?=
SECONDS ?= 60
SANITIZER ?=

# SwiftPM writes the traits into each compiler call in the order of a set. Where another `swift build` has
# another order, it compiles everything again.
export SWIFT_DETERMINISTIC_HASHING = 1

SWIFT_SOURCES = Package.swift Sources Lab Tests Benchmarks/Sources Examples

.DEFAULT_GOAL := help
.PHONY: help setup demo test apps build format lint reference docs bench chaos linear crash powerloss damage network fuzz sanitize simulate search stats picture clean

help: ## List what can be made
	@echo 'Reprise: delivers messages, taps and background work to an app, and accounts for each.'
	@echo
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-9s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
	@echo
	@echo 'Settings, for example: make demo SEED=7'
	@echo
	@echo '  SCENARIO=all           all, kill, catch-up, proof, forms, reminders, chains, notices'
	@echo '  SCENARIO=cluster       three nodes, three gateways, five failures, and their picture'
	@echo '  SEED=7                 the demo'\''s random seed; without it each run has a new one'
	@echo '  FILTER=Journal         the tests to run: a regular expression over target, suite, name'
	@echo '  CONFIGURATION=release  of build and demo; debug shares the build of `make test`'
	@echo '  ARGS='\''…'\''               further arguments of the demo or the benchmarks'
	@echo '  MINUTES=30             how long `make chaos` goes on; MINUTES=5 `make linear`'
	@echo '  MINUTES=60, KILLS=5000  how long `make crash` goes on; 200 kills by default'
	@echo '  MINUTES=10             how long `make network` goes on; SEED is its first seed'
	@echo '  MINUTES=10, SEED       how long `make search` goes on, and its first seed (else random)'
	@echo '  IMAGES=100             of `make powerloss`'
	@echo '  SEEDS=1000, ROUNDS=20  of `make damage`'
	@echo '  TARGET=json SECONDS=10  the parser to fuzz, and for how long; names: scripts/fuzz --list'
	@echo '  SANITIZER=thread       the one sanitizer to run, address or thread; FILTER chooses the tests'
	@echo '  REPRISE_STRICT=1       warnings in our own code are errors, as in CI'

setup: ## Check what this machine lacks, and install it where that is possible
	@./scripts/setup

demo: setup ## Run all five features, with real processes and kills; SCENARIO chooses one
ifeq ($(SCENARIO),cluster)
	@swift build --traits Lab --configuration $(CONFIGURATION) --product reprise
	@./scripts/demo-cluster $(if $(SEED),--seed $(SEED)) --reprise \
		"$$(swift build --traits Lab --configuration $(CONFIGURATION) --show-bin-path)/reprise" $(ARGS)
else
	@swift build --traits Lab --configuration $(CONFIGURATION) --product reprise
	@swift build --traits Lab --configuration $(CONFIGURATION) --product reprise-lab
	@"$$(swift build --traits Lab --configuration $(CONFIGURATION) --show-bin-path)/reprise-lab" \
		demo $(SCENARIO) $(if $(SEED),--seed $(SEED)) $(ARGS)
endif

test: setup ## Run all tests, or those that FILTER, a regular expression, chooses
	@swift build --traits Lab --build-tests
	@./scripts/run-tests $(if $(FILTER),'$(FILTER)')

apps: setup ## Build an app that depends on the SDK, and compile what is Apple's alone
	@swift build --traits Lab --build-tests
	@./scripts/check-consumer
	@./scripts/check-apple

network: setup ## Cut, truncate, half-open real connections by seed, for MINUTES
	@swift build --traits Lab --build-tests
	@REPRISE_NETWORK_MINUTES=$(MINUTES) REPRISE_NETWORK_SEED=$(SEED) \
		swift test --traits Lab --skip-build --disable-xctest --no-parallel --filter NetworkSeedTests

build: setup ## Build everything
	@swift build --traits Lab --configuration $(CONFIGURATION)

format: ## Format the Swift sources in place
	@swift format --in-place --parallel --recursive $(SWIFT_SOURCES)

lint: ## Check format, comments, links, style, generated pages and the tests' runner; change nothing
	@swift format lint --strict --parallel --recursive $(SWIFT_SOURCES)
	@./scripts/check-style
	@./scripts/check-run-tests
	@./scripts/reference --check

reference: setup ## Write the pages on limits, metrics and errors from the code
	@./scripts/reference

docs: setup ## Write the API documentation as a static site to .docs/
	@./scripts/docs

bench: setup ## Measure; Benchmarks/README.md says what
	@swift run --traits Lab --configuration release RepriseBenchmarks $(ARGS)

chaos: setup ## Kill and stop the parts of a cluster for MINUTES=30, and compare
	@swift build --traits Lab --configuration $(CONFIGURATION) --product reprise
	@./scripts/chaos --minutes $(if $(MINUTES),$(MINUTES),30) $(if $(SEED),--seed $(SEED)) \
		--reprise "$$(swift build --traits Lab --configuration $(CONFIGURATION) --show-bin-path)/reprise" $(ARGS)

linear: setup ## Judge what a cluster answers over HTTP while its parts fail, for MINUTES=5
	@swift build --traits Lab --configuration $(CONFIGURATION) --product reprise
	@./scripts/linearizability --minutes $(if $(MINUTES),$(MINUTES),5) $(if $(SEED),--seed $(SEED)) \
		--reprise "$$(swift build --traits Lab --configuration $(CONFIGURATION) --show-bin-path)/reprise" $(ARGS)

crash: setup ## Kill devices and a server for MINUTES=60, or KILLS=5000 times, and compare
	@./scripts/crash-loop kills $(if $(KILLS),--kills $(KILLS)) \
		$(if $(MINUTES),--minutes $(MINUTES)) $(if $(SEED),--seed $(SEED)) $(ARGS)

powerloss: setup ## Cut the power under a journal and a log IMAGES=100 times (Linux, root)
	@./scripts/crash-loop powerloss --images $(IMAGES) $(if $(SEED),--seed $(SEED)) $(ARGS)

damage: setup ## Damage SEEDS=1000 journals and logs; then ROUNDS=20 on disks that fail and fill
	@./scripts/crash-loop damage --seeds $(SEEDS) $(if $(SEED),--seed $(SEED)) $(ARGS)
	@for kind in fdatasync pwrite64 full; do \
		./scripts/crash-loop faults --kind $$kind --rounds $(ROUNDS) \
			$(if $(SEED),--seed $(SEED)) $(ARGS) || exit; done

simulate: setup ## Search for a violated invariant in virtual time, optimised; ARGS as of reprise-lab simulate
	@swift build --traits Lab --configuration release --product reprise-lab
	@"$$(swift build --traits Lab --configuration release --show-bin-path)/reprise-lab" simulate $(ARGS)

search: setup ## Run fresh seeds of every workload in turn for MINUTES=10; prints the first seed
	@swift build --traits Lab --configuration release --product reprise-lab
	@"$$(swift build --traits Lab --configuration release --show-bin-path)/reprise-lab" simulate --fresh \
		--minutes $(if $(MINUTES),$(MINUTES),10) $(if $(SEED),--from $(SEED)) $(ARGS)

fuzz: setup ## Look for inputs that break a parser, a minute each, with libFuzzer
	@FUZZ_SECONDS=$(SECONDS) ./scripts/fuzz $(TARGET)

sanitize: setup ## Run the tests under the Address and the Thread Sanitizer
	@./scripts/sanitize $(SANITIZER) $(if $(FILTER),'$(FILTER)')

stats: ## Print sizes, and violations of the rules on names, comments and pages
	@./scripts/stats

picture: setup ## Draw docs/picture.svg from a run of the server and a device
	@swift build --traits Lab --product reprise
	@./scripts/picture

clean: ## Remove what was built
	@rm -rf .build .build-* .build_* .docs .demo
