// What a machine without a driver gets.
#include "gpu/driver.h"
#include <gtest/gtest.h>
#include "gpu/device.h"
#include "tests/gpu/error_of.h"

namespace speedlight::gpu {
namespace {

TEST(Driver, VersionText) {
  EXPECT_EQ(driver_version_text(12080), "CUDA 12.8");
  EXPECT_EQ(driver_version_text(13010), "CUDA 13.1");
}

TEST(Driver, AbsentDriverIsAClearError) {
  const DriverFacts facts = driver_facts();
  if (facts.present) GTEST_SKIP() << "a driver is here: " << facts.message;
  EXPECT_NE(facts.message.find("driver"), std::string::npos) << facts.message;
  EXPECT_EQ(facts.devices, 0);
  const Plan plan;
  for (int again = 0; again < 2; ++again) {
    const Error error = error_of([&] { prepare(plan, 0); });
    EXPECT_EQ(error.status(), Status::no_driver);
    EXPECT_EQ(error.what(), facts.message);
    EXPECT_EQ(error_of([&] { launch(plan, {}, 0, nullptr); }).status(), Status::no_driver);
    EXPECT_EQ(error_of([] { device_facts(0); }).status(), Status::no_driver);
    EXPECT_EQ(error_of([] { allocate(16, 0, nullptr); }).status(), Status::no_driver);
  }
}

TEST(Driver, PresentDriverHasFacts) {
  const DriverFacts facts = driver_facts();
  if (!facts.present) GTEST_SKIP() << facts.message;
  EXPECT_GE(facts.version, driver_floor);
  const DeviceFacts device = device_facts(0);
  EXPECT_GE(device.sms, 1);
  EXPECT_GE(device.shared_sm, device.shared_block);
  EXPECT_GE(device.threads_sm, 1024);
  EXPECT_GT(device.mma_tflops, 0);
  EXPECT_GT(device.memory_tbs, 0);
  const Error error = error_of([&] { device_facts(facts.devices); });
  EXPECT_EQ(error.status(), Status::unknown_device);
  EXPECT_NE(std::string(error.what()).find("device is " + std::to_string(facts.devices)), std::string::npos);
}

}  // namespace
}  // namespace speedlight::gpu
