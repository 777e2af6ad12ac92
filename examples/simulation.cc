// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Stars attract each other.  The program records itself into the file PROFILE:
//
//     g++ -std=c++20 -O2 -g -o simulation simulation.cc $(pkg-config --cflags --libs vgctl)
//     ./simulation simulation.vgp && vgtool report simulation.vgp
//
// simulation PROFILE [STEPS].  In each step the main thread puts all stars into a tree, then two workers move them.
// The writer writes them to stars.txt, again and again, and holds their lock meanwhile.  The monitor sleeps, and shows
// the progress.  simulation.c and simulation.rs are the same program, and print the same checksum.
#include <algorithm>
#include <array>
#include <atomic>
#include <barrier>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>
#include <vgctl.h>

using namespace std::chrono_literals;

constexpr int star_count = 4000, workers = 2;
constexpr double step_time = 1e-3, softening = 1e-4, accuracy = 0.7;

// Records until end() is called or the object is destroyed.  Only end() reports errors.
class Recording {
	vgctl_session *session = nullptr;
	static void check(int rc) { if (rc < 0) throw std::runtime_error(vgctl_strerror(rc)); }
public:
	Recording(const char *path, const vgctl_options &options) { check(vgctl_begin(path, &options, &session)); }
	Recording(Recording &&) = delete;
	~Recording() { if (session) vgctl_end(session, nullptr); }
	void end() { check(vgctl_end(std::exchange(session, nullptr), nullptr)); }
};

// An interval that ends when the object is destroyed.
struct Phase {
	const vgctl_interval interval;
	explicit Phase(const char *label)
		: interval(vgctl_interval_begin(vgctl_intern("phase"), vgctl_intern(label), 0)) {}
	Phase(Phase &&) = delete;
	~Phase() { vgctl_interval_end(interval); }
};

template <typename T> struct Vec {
	T x{}, y{};
	friend Vec operator+(Vec a, Vec b) { return { a.x + b.x, a.y + b.y }; }
	friend Vec operator-(Vec a, Vec b) { return { a.x - b.x, a.y - b.y }; }
	friend Vec operator*(Vec a, T factor) { return { a.x * factor, a.y * factor }; }
	T square() const { return x * x + y * y; }
};
using Point = Vec<double>;

struct Star { Point position, velocity; };

// A square of the tree, with the number and the sum of the positions in it.
class Square {
	Point middle, sum;
	double half;
	int stars = 0;
	std::array<std::unique_ptr<Square>, 4> children;

	int child_add(Point star)
	{
		const bool right = star.x >= middle.x, up = star.y >= middle.y;
		auto &child = children[right + 2 * up];
		const bool created = !child;

		if (created) {
			const Point offset{ right ? half / 2 : -half / 2, up ? half / 2 : -half / 2 };
			child = std::make_unique<Square>(middle + offset, half / 2);
		}
		return created + child->add(star);
	}

	template <typename Visit> void children_visit(Visit visit) const
	{
		for (const auto &child : children)
			if (child)
				visit(*child);
	}
public:
	Square(Point middle, double half) : middle(middle), half(half) {}

	// Adds a star, and returns how many squares were created for it.
	int add(Point star)
	{
		int created = 0;

		if (stars == 1)
			created += child_add(sum);      // the star that was alone in this square
		if (stars >= 1)
			created += child_add(star);
		sum = sum + star;
		stars++;
		return created;
	}

	// The force on a star.  The stars of a square that is far away count as one.
	Point force(Point star) const
	{
		const Point away = sum * (1.0 / stars) - star;
		const double square = away.square() + softening;
		Point total;

		if (stars == 1 || half * half < accuracy * accuracy * square)
			return away * (stars / (square * std::sqrt(square)));
		children_visit([&](const Square &child) { total = total + child.force(star); });
		return total;
	}
};

class Simulation {
	std::vector<Star> stars;
	std::mutex lock;                        // of the stars
	std::unique_ptr<Square> tree;
	std::barrier<> tree_ready{ workers + 1 }, stars_moved{ workers + 1 };
	std::atomic<int> steps_done = 0;
	const int steps;

	void tree_build()
	{
		Phase phase("tree");
		double half = 0;
		int squares = 1;

		for (const auto &[at, velocity] : stars)
			half = std::max({ half, std::abs(at.x), std::abs(at.y) });
		tree = std::make_unique<Square>(Point{}, half);
		for (const Star &star : stars)
			squares += tree->add(star.position);
		vgctl_counter(vgctl_intern("nodes"), squares);
	}

	void stars_move(int worker)
	{
		Phase phase("move");
		const int count = star_count / workers;

		std::for_each_n(stars.begin() + count * worker, count, [this](Star &star) {
			star.velocity = star.velocity + tree->force(star.position) * (step_time / star_count);
			star.position = star.position + star.velocity * step_time;
		});
	}

	void stars_write()
	{
		Phase phase("write");
		std::lock_guard guard(lock);
		std::ofstream file("stars.txt");

		file << std::fixed;             // with six digits, which is the default
		for (const auto &[at, velocity] : stars)
			file << at.x << ' ' << at.y << '\n';
	}

	template <typename Run> std::jthread thread(const std::string &name, Run run)
	{
		return std::jthread([=, this] {
			vgctl_thread_name(name.c_str());
			for (int step = 0; step < steps; step = run(step)) {}
		});
	}
public:
	explicit Simulation(int steps) : steps(steps)
	{
		for (int i = 0; i < star_count; i++) {
			const Point at{ 2 * std::fmod(i * 0.618034, 1) - 1, 2.0 * i / star_count - 1 };
			stars.push_back({ at, { -at.y / 2, at.x / 2 } });
		}
	}

	void run()
	{
		std::vector<std::jthread> threads;

		for (int i = 0; i < workers; i++) {
			threads.push_back(thread("worker " + std::to_string(i), [i, this](int step) {
				tree_ready.arrive_and_wait();
				stars_move(i);
				stars_moved.arrive_and_wait();
				return step + 1;
			}));
		}
		threads.push_back(thread("writer", [this](int) {
			stars_write();
			std::this_thread::sleep_for(5ms);
			return steps_done.load();
		}));
		threads.push_back(thread("monitor", [this](int) {
			std::this_thread::sleep_for(100ms);
			std::cerr << "step " << steps_done << " of " << steps << '\n';
			return steps_done.load();
		}));
		for (; steps_done < steps; steps_done++) {
			tree_build();
			std::lock_guard guard(lock);
			tree_ready.arrive_and_wait();
			stars_moved.arrive_and_wait();
		}
		threads.clear();                // waits until they have ended
		stars_write();
	}

	uint64_t checksum() const
	{
		uint64_t sum = 0;

		for (const auto &[at, velocity] : stars)
			sum = (sum * 31 + std::bit_cast<uint64_t>(at.x)) * 31 + std::bit_cast<uint64_t>(at.y);
		return sum;
	}
};

int main(int argc, char **argv) try {
	if (argc < 2)
		throw std::runtime_error("usage: simulation PROFILE [STEPS]");
	Simulation simulation(argc > 2 ? std::stoi(argv[2]) : 500);
	vgctl_options options = VGCTL_OPTIONS_INIT;

	options.rate_hz = 499;
	vgctl_thread_name("main");
	Recording recording(argv[1], options);
	simulation.run();
	recording.end();
	std::printf("checksum %016llx\n", static_cast<unsigned long long>(simulation.checksum()));
} catch (const std::exception &error) {
	std::cerr << "simulation: " << error.what() << '\n';
	return 1;
}
